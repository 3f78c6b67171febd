"""Detect lost updates by the time of the last change."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

Versions: TypeAlias = Sequence[datetime] | None
"""The accepted values of a row's ``updated_at``, or None for any."""


class Modified(Exception):
    """The row has changed since the client read it."""


def require_version(
    item: Mapping[str, object], updated_at: datetime | None
) -> Mapping[str, object] | Modified:
    """Return the values of an item of a batch without its ``if_match``, or
    Modified if this is not ``updated_at``, the time of the item's row.

    The row is locked. Without one, the time is None.
    """
    if "if_match" not in item:
        return item
    values = {**item}
    version = values.pop("if_match")
    if updated_at is None or updated_at != version:
        return Modified()
    return values
