"""The time in the id of a bookmark or collection, a UUID of version 7.

It is the time at which the row was added, whereas clients can set ``created_at``.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMESTAMP_BITS = 48  # milliseconds since 1970, with which the id begins
OTHER_BITS = 80


def first_id(moment: datetime) -> UUID:
    """Return the lowest id that a row can have that was added in this millisecond or later."""
    milliseconds = -((EPOCH - moment) // timedelta(milliseconds=1))  # rounded up
    return UUID(int=min(max(milliseconds, 0), 2**TIMESTAMP_BITS - 1) << OTHER_BITS)
