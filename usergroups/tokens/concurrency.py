"""Limit the concurrent calls of an owner that take long, in each process."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import Model
from rest_framework.exceptions import Throttled

MAX_EXPENSIVE_CALLS = 6
"""The maximum number of concurrent expensive calls in a process, which leaves two of its eight threads for others."""
MAX_EXPENSIVE_CALLS_PER_OWNER = 3


class ConcurrentCalls:
    """Counts the concurrent calls of each owner."""

    def __init__(self, maximum: int, maximum_per_owner: int) -> None:
        self.maximum, self.maximum_per_owner = maximum, maximum_per_owner
        self.numbers: Counter[tuple[str, Any]] = Counter()
        self.lock = threading.Lock()

    @contextmanager
    def add(self, owner: Model) -> Iterator[None]:
        """Count a call during the block. Raises Throttled if the owner, or all owners together, have too many."""
        key = (owner._meta.label, owner.pk)
        with self.lock:
            if self.numbers[key] >= self.maximum_per_owner or self.numbers.total() >= self.maximum:
                raise Throttled(wait=1)
            self.numbers[key] += 1
        try:
            yield
        finally:
            with self.lock:
                self.numbers -= Counter([key])  # This also removes the key of an owner without calls.


expensive_call = ConcurrentCalls(MAX_EXPENSIVE_CALLS, MAX_EXPENSIVE_CALLS_PER_OWNER).add
"""Limits the concurrent expensive calls of an owner, and of all owners, in this process."""
