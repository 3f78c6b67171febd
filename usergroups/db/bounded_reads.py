"""Read a limited number of rows and of bytes.

Read the sizes of the rows first: ``number_to_read`` says how many rows fit.
Then slice the queryset, or filter it by ``compare_positions`` up to the last of
these rows.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

from django.db.models import Expression, F, Field, Func, Model, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual

from . import stored_json

MAX_RESULTS_SIZE = 32 * 1024 * 1024
"""The maximum size of the objects in the results of a batch, in bytes.

A small batch may refer to many large objects, and load them all.
"""


class ResultsTooLarge(Exception):
    """The objects that a batch would return exceed MAX_RESULTS_SIZE."""


def number_to_read(
    ordered: QuerySet[Any], size: Combinable, max_rows: int, max_size: int
) -> tuple[int, bool]:
    """Return how many of the first rows have at most ``max_size`` bytes in
    all, and whether there are other rows.

    ``size`` is the number of bytes of a row. The number is at most
    ``max_rows``. The first row counts whatever its size, so that each read
    makes progress.
    """
    sizes = list(ordered.values_list(size, flat=True)[: max_rows + 1])
    totals = accumulate(sizes[:max_rows])
    fitting = [total for total in totals if total <= max_size]
    number = max(len(fitting), 1)
    return min(number, len(sizes)), number < len(sizes)


def size_of_results(
    keys: Sequence[Hashable],
    stored_sizes: Mapping[Any, int],
    items: Iterable[Mapping[str, object]] = (),
) -> int:
    """Estimate the number of bytes of the objects that a batch returns, one
    for each key.

    ``stored_sizes`` has the sizes of the stored objects by key, and ``items``
    the values that the batch may write for each key. The results of all items
    of an object may have the largest value of each field. Those of an object
    that occurs once are not counted, because the request body already limits
    them.
    """
    counts = Counter(keys)
    sizes = Counter(stored_sizes)
    written: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for key, item in zip(keys, items, strict=False):
        if counts[key] > 1:
            texts = {name: stored_json.encode(each) for name, each in item.items()}
            lengths = {name: len(text.encode()) for name, text in texts.items()}
            # the maximum of both
            written[key] |= Counter(lengths)
    for key, lengths_by_name in written.items():
        sizes[key] += lengths_by_name.total()
    return sum(sizes[key] for key in keys)


def require_small_results(size: int) -> None:
    """Raise ResultsTooLarge if the objects in the results of a batch, which
    has written nothing yet, will have more than MAX_RESULTS_SIZE bytes.
    """
    if size > MAX_RESULTS_SIZE:
        raise ResultsTooLarge


def pages(rows: Any, size: int, order: Sequence[str] = ()) -> Iterator[list[Any]]:
    """Yield the rows of a queryset in pages, ordered by the fields in ``order``
    and then from the oldest to the newest.

    If there is more than one page, all rows must have the same values of these
    fields. Named tuples of values must have ``created_at`` and ``pk``.
    """
    rows = following = rows.order_by(*order, "created_at", "pk")
    while page := list(following[:size]):
        yield page
        if len(page) < size:
            return
        last = (page[-1].created_at, page[-1].pk)
        following = rows.filter(
            compare_positions(rows.model, ("created_at", "id"), last, GreaterThan)
        )


class RowValue(Func):
    """An SQL row value.

    A comparison of row values can use an index over the same columns.
    """

    template = "(%(expressions)s)"
    output_field = Field()


Comparison = Callable[[RowValue, RowValue], Expression]
"""A lookup class, such as GreaterThan."""


def compare_positions(
    model: type[Model],
    names: Sequence[str],
    position: Sequence[object],
    lookup: Comparison,
) -> Q:
    """Return the condition that ``lookup``, such as GreaterThan, holds between
    a row's values of the fields with these names and ``position``.

    PostgreSQL estimates the comparison of a row value independently of other
    bounds, as a large part of the table, and may then read all of it. Two
    bounds of the first field are estimated as a range, so compare it alone as
    well.
    """
    values = []
    for name, value in zip(names, position, strict=True):
        field = cast("Field[object, object]", model._meta.get_field(name))
        values.append(Value(value, output_field=field))
    comparison = lookup(RowValue(*map(F, names)), RowValue(*values))
    # Not "gt" or "lt", because several rows may have this value.
    is_after = lookup in (GreaterThan, GreaterThanOrEqual)
    bound = f"{names[0]}__gte" if is_after else f"{names[0]}__lte"
    return Q(comparison, **{bound: position[0]})
