"""Searches of lists, which read a limited number of rows."""

from collections.abc import Sequence

from django.contrib.admin.views.main import SEARCH_VAR, ChangeListSearchForm
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.utils.text import smart_split
from django.utils.translation import gettext

from usergroups.db.bounded_reads import compare_positions, number_to_read
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
    MAX_SEARCHED_SIZE bytes in the ``searched`` fields. The fields of the
    order must not be null, and all of them get the direction of the first.
    """
    is_descending = ordering[0].startswith("-")
    sign = "-" if is_descending else ""
    names = [name.removeprefix("-") for name in ordering]
    if names[-1] == "pk":
        names[-1] = rows.model._meta.pk.name
    ordered = rows.order_by(*[f"{sign}{name}" for name in names])
    number, has_more = number_to_read(
        ordered, StoredSize(*searched), MAX_LISTED, MAX_SEARCHED_SIZE
    )
    if not has_more:
        return rows, None
    positions = ordered.values_list(*names)
    first = positions.first()
    last = positions[number - 1 : number].first()
    # Others have deleted rows meanwhile.
    if first is None or last is None:
        return rows.none(), None
    # All rows may have the same first value, such as the user group by which
    # the list is filtered.
    if len(names) > 1 and first[0] == last[0]:
        rows = rows.filter(**{names[0]: first[0]})
        names = names[1:]
        last = last[1:]
    # Compare with the values of the last row. With a subquery of keys,
    # PostgreSQL may read the whole table.
    up_to = GreaterThanOrEqual if is_descending else LessThanOrEqual
    return rows.filter(compare_positions(rows.model, names, last, up_to)), number
