"""Searches of lists, which read a limited number of rows."""

from collections.abc import Sequence

from django.contrib.admin.views.main import SEARCH_VAR, ChangeListSearchForm
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.text import smart_split
from django.utils.translation import gettext

from usergroups.db.bounded_reads import number_to_read
from usergroups.db.stored_json import StoredSize

from .pages import M
from .paginator import MAX_LISTED

# A search compares each word with each field of each row.
MAX_QUERY_LENGTH = 100  # characters
MAX_WORDS = 5
MAX_SEARCHED_SIZE = 2_000_000  # bytes of the rows


def is_valid_query(text: str) -> bool:
    """Return whether a list can be searched for the text."""
    # PostgreSQL raises an error for a null character.
    if len(text) > MAX_QUERY_LENGTH or "\0" in text:
        return False
    return len(list(smart_split(text))) <= MAX_WORDS


class SearchForm(ChangeListSearchForm):
    """The search field of a list.

    If the text is not valid, the list shows the error and all rows.
    """

    def clean_q(self) -> str:
        """Validate the text, whose field has the name SEARCH_VAR of Django."""
        text: str = self.cleaned_data[SEARCH_VAR]
        if is_valid_query(text):
            return text
        message = gettext(
            "Search for at most %(length)s characters and %(words)s words."
        )
        limits = {"length": MAX_QUERY_LENGTH, "words": MAX_WORDS}
        raise ValidationError(message % limits)


def rows_to_search(
    rows: QuerySet[M], ordering: Sequence[str], searched: Sequence[str]
) -> tuple[QuerySet[M], int | None]:
    """Return the rows that a search reads, and their number if there are more.

    They are the first in this order, at most MAX_LISTED, with at most
    MAX_SEARCHED_SIZE bytes in the ``searched`` fields.
    """
    ordered = rows.order_by(*ordering)
    number, has_more = number_to_read(
        ordered, StoredSize(*searched), MAX_LISTED, MAX_SEARCHED_SIZE
    )
    if not has_more:
        return rows, None
    # Select them by their keys, because a slice cannot be filtered. With a
    # subquery of keys, PostgreSQL may read the whole table.
    keys = ordered.values_list("pk", flat=True)[:number]
    return rows.filter(pk__in=list(keys)), number
