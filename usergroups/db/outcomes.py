"""The items of a batch, of which some fail.

An item that fails is replaced by the exception, and the others go on without
it.
"""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def valid_items(items: Iterable[T | Exception]) -> list[T]:
    """Return the items that have not failed yet."""
    return [item for item in items if not isinstance(item, Exception)]


def with_outcomes(
    items: Iterable[object], outcomes: Iterable[T]
) -> list[T | Exception]:
    """Return the items with these outcomes in place of the ``valid_items``."""
    remaining = iter(outcomes)
    return [item if isinstance(item, Exception) else next(remaining) for item in items]
