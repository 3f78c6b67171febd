"""Detect lost updates by the time of the last change."""

from collections.abc import Mapping
from typing import Any


class Modified(Exception):
    """The row has changed since the client read it."""


def require_version(item: Mapping[str, Any], row: Any) -> Mapping[str, Any] | Modified:
    """Return the values of an item of a batch without its ``if_match``, or
    Modified if this is not the ``updated_at`` of ``row``.

    ``row`` is the item's row, which is locked, or None if there is none.
    """
    if "if_match" not in item:
        return item
    values = {**item}
    version = values.pop("if_match")
    if row is None or row.updated_at != version:
        return Modified()
    return values
