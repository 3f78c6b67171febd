"""Searches of lists, which read a limited number of rows."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from django.contrib.admin.views.main import SEARCH_VAR, ChangeListSearchForm
from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.utils.text import smart_split
from django.utils.translation import gettext

from usergroups.api.pagination import RowValue

from .model_admin import M
from .paginator import MAX_LISTED

# A search compares each word with each field of each row.
MAX_QUERY_LENGTH = 100  # characters
MAX_WORDS = 5
MAX_SEARCHED_SIZE = 2_000_000  # characters of the rows


def is_valid_query(text: str) -> bool:
    """Return whether a list can be searched for the text."""
    if len(text) > MAX_QUERY_LENGTH:
        return False
    return len(list(smart_split(text))) <= MAX_WORDS


def validate_query(text: str) -> None:
    """Raise ValidationError if a list cannot be searched for the text."""
    if not is_valid_query(text):
        message = gettext(
            "Search for at most %(length)s characters and %(words)s words."
        )
        limits = {"length": MAX_QUERY_LENGTH, "words": MAX_WORDS}
        raise ValidationError(message % limits)


class SearchForm(ChangeListSearchForm):
    """The search field of a list.

    If the text is not valid, the list shows the error and all rows.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[SEARCH_VAR].validators.append(validate_query)


def rows_to_search(
    rows: QuerySet[M], ordering: Sequence[str], searched: Sequence[str]
) -> tuple[QuerySet[M], int | None]:
    """Return the rows that a search reads, and their number if there are more.

    They are the first in this order, at most MAX_LISTED, with at most
    MAX_SEARCHED_SIZE characters in the ``searched`` fields. The fields of the
    order must not be null, and all of them get the direction of the first.
    """
    is_descending = ordering[0].startswith("-")
    names = [name.removeprefix("-") for name in ordering]
    if is_descending:
        ordered = rows.order_by(*(f"-{name}" for name in names))
    else:
        ordered = rows.order_by(*names)
    number = _number_to_search(ordered, searched)
    if number is None:
        return rows, None
    [last] = ordered.values_list(*names)[number - 1 : number]
    values = [
        Value(value, _field_of(rows, name))
        for name, value in zip(names, last, strict=True)
    ]
    # With a subquery of keys, PostgreSQL may read the whole table.
    until = GreaterThanOrEqual if is_descending else LessThanOrEqual
    return rows.filter(until(RowValue(*map(F, names)), RowValue(*values))), number


def _number_to_search(ordered: QuerySet[M], searched: Sequence[str]) -> int | None:
    """Return the number of rows that a search reads, or None for all rows."""
    length: Any = reduce(add, [Length(name) for name in searched])
    sizes = ordered.values_list(length, flat=True)[: MAX_LISTED + 1]
    total = 0
    for number, size in enumerate(sizes):
        total += size or 0
        is_first = number == 0
        if not is_first and (number == MAX_LISTED or total > MAX_SEARCHED_SIZE):
            return number
    return None


def _field_of(rows: QuerySet[M], name: str) -> Any:
    opts = rows.model._meta
    return opts.pk if name == "pk" else opts.get_field(name)
