"""What the page Find needs to know of a model."""

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.models import Q

from .fields import is_valid_value
from .pages import M, PagesAdmin


class FindableAdmin(PagesAdmin[M]):
    """An admin whose rows the page Find finds."""

    find_fields: tuple[str, ...] = ()
    """The fields that Find searches for a value equal to the text or, in text
    fields, containing it.
    """
    secret_prefix: str = ""
    """The prefix of the secrets that identify a row, if any."""

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        """Return the condition that one of these secrets, which begin with
        ``secret_prefix``, identifies the row.
        """
        return Q()  # Find returns no rows for an empty condition.

    def text_condition(self, text: str, lookup: str) -> Q:
        """Return the condition that a field equals the text (``lookup``
        "exact") or contains it ("icontains").

        Find passes the secrets in a text to ``with_secrets`` instead.
        """
        condition = Q()
        for name in self.find_fields:
            field: Any = self.opts.get_field(name)
            # Other fields, such as ids, match as a whole.
            if lookup != "exact" and not isinstance(field, models.CharField):
                continue
            if is_valid_value(field, text):
                condition |= Q((f"{name}__{lookup}", text))
        return condition
