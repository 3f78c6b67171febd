"""What the page Find needs to know of a model."""

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.models import Q, QuerySet

from usergroups.db.deletion_records import DeletionRecord

from .fields import is_valid_value
from .pages import M, PagesAdmin
from .words import pattern_of


class FindableAdmin(PagesAdmin[M]):
    """An admin whose rows the page Find finds."""

    find_fields: tuple[str, ...] = ()
    """The fields that Find searches for a value equal to the text or, in text
    fields, for its words.
    """
    secret_prefix: str = ""
    """The prefix of the secrets that identify a row, if any."""

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        """Return the condition that one of these secrets, which begin with
        ``secret_prefix``, identifies the row.
        """
        raise NotImplementedError

    def exact_condition(self, text: str) -> Q:
        """Return the condition that a field equals the text.

        Find passes the secrets in a text to ``with_secrets`` instead.
        """
        condition = Q()
        for name in self.find_fields:
            field: Any = self.opts.get_field(name)
            if is_valid_value(field, text):
                condition |= Q((name, text))
        return condition

    def words_condition(self, words: Sequence[str]) -> Q:
        """Return the condition that each of the words is in one of the text
        fields, in any letter case and with or without accents.
        """
        condition = Q()
        for word in words:
            pattern = pattern_of(word)
            is_in_a_field = Q()
            for name in self.find_fields:
                # Other fields, such as ids, match as a whole.
                if isinstance(self.opts.get_field(name), models.CharField):
                    is_in_a_field |= Q((f"{name}__regex", pattern))
            condition &= is_in_a_field
        return condition

    def deletions_of(self, text: str) -> QuerySet[DeletionRecord] | None:
        """Return the records of deleted rows with this id in the API, if
        deletions of the model are recorded and the text can be an id.
        """
        return None
