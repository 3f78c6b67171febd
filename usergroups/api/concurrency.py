"""Limit the calls in progress.

Each process counts its calls in memory. A call over the limit is refused and
does not wait, because a waiting call would hold one of the few threads of its
process.
"""

import threading
from collections.abc import Hashable

from rest_framework.exceptions import Throttled


class ConcurrencyLimit:
    """Limits the calls in progress in this process.

    ``per_owner`` is the maximum number of calls of one owner, and ``in_total``
    that of all owners, or None for no limit.
    """

    def __init__(self, per_owner: int, in_total: int | None = None) -> None:
        self.per_owner = per_owner
        self.in_total = in_total
        self._lock = threading.Lock()
        self._calls: dict[Hashable, int] = {}
        """The number of calls in progress of each owner that has any."""

    def begin(self, owner: Hashable) -> None:
        """Count a call of the owner, until ``end`` is called.

        Raises Throttled if too many are in progress. A call does not wait for
        another one to end, because it would hold its thread meanwhile.
        """
        with self._lock:
            calls = self._calls.get(owner, 0)
            if calls >= self.per_owner or self._is_full():
                raise Throttled(wait=1)
            self._calls[owner] = calls + 1

    def end(self, owner: Hashable) -> None:
        """Stop counting a call that has begun."""
        with self._lock:
            calls = self._calls.pop(owner)
            if calls > 1:
                self._calls[owner] = calls - 1

    def _is_full(self) -> bool:
        """Whether the calls of all owners have reached ``in_total``."""
        return self.in_total is not None and sum(self._calls.values()) >= self.in_total


ANY_CALLS = ConcurrencyLimit(per_owner=6)
"""The limit of all calls.

It leaves two of a process's eight threads for other owners, because the calls
of one owner may wait for each other, for example for the lock on a row.
"""


COSTLY_CALLS = ConcurrencyLimit(per_owner=3, in_total=6)
"""The limit of costly calls, which count for the limit of all calls as well."""
