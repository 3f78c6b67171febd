"""Searches of lists, which read a limited number of rows."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from django.contrib.admin.views.main import SEARCH_VAR, ChangeListSearchForm
from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet, Value
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.utils.text import smart_split
from django.utils.translation import gettext

from usergroups.api.pagination import RowValue
from usergroups.db.stored_json import ByteLength

from .pages import M
from .paginator import MAX_LISTED

# A search compares each word with each field of each row.
MAX_QUERY_LENGTH = 100  # characters
MAX_WORDS = 5
MAX_SEARCHED_SIZE = 2_000_000  # bytes of the rows


def is_valid_query(text: str) -> bool:
    """Return whether a list can be searched for the text."""
    if len(text) > MAX_QUERY_LENGTH:
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
    names = [name.removeprefix("-") for name in ordering]
    sign = ""
    comparison: Any = LessThanOrEqual
    if ordering[0].startswith("-"):
        sign = "-"
        comparison = GreaterThanOrEqual
    ordered = rows.order_by(*(f"{sign}{name}" for name in names))
    length: Any = reduce(add, [ByteLength(name) for name in searched])
    sizes = list(ordered.values_list(names[0], length)[: MAX_LISTED + 1])
    number = _number_to_search([size for _, size in sizes])
    if number is None:
        return rows, None
    [last] = ordered.values_list(*names)[number - 1 : number]
    # All rows may have the same first value, such as the user group by which
    # the list is filtered.
    first_value = sizes[0][0]
    if len(names) > 1 and first_value == last[0]:
        rows = rows.filter(**{names[0]: first_value})
        names = names[1:]
        last = last[1:]
    # PostgreSQL expects that a comparison of row values matches a large part
    # of the table, and may then read all of it. It estimates this one better.
    rows = rows.filter(**{f"{names[0]}__{comparison.lookup_name}": last[0]})
    opts = rows.model._meta
    values = []
    for name, value in zip(names, last, strict=True):
        field_name = opts.pk.name if name == "pk" else name
        field: Any = opts.get_field(field_name)
        values.append(Value(value, field))
    # Compare with the values of the last row. With a subquery of keys,
    # PostgreSQL may read the whole table.
    condition = comparison(RowValue(*map(F, names)), RowValue(*values))
    return rows.filter(condition), number


def _number_to_search(sizes: Sequence[int | None]) -> int | None:
    """Return how many of the rows with these sizes a search reads, or None for
    all.
    """
    total = 0
    # ``number`` is that of the rows before this one. The first row is searched
    # whatever its size.
    for number, size in enumerate(sizes):
        total += size or 0
        is_beyond = number == MAX_LISTED or total > MAX_SEARCHED_SIZE
        if is_beyond and number > 0:
            return number
    return None
