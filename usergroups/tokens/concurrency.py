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

MAX_FILE_TRANSFERS = 3
"""The maximum number of concurrent uploads and downloads of files in a process.

They are expensive calls too, and wait for the client. This leaves one of the four threads for large bodies, and three
of the expensive calls, for others.
"""
MAX_FILE_TRANSFERS_PER_OWNER = 2


class TooManyExpensiveCalls(Throttled):
    """The owner, or all owners together, have too many expensive calls at the moment."""


class ConcurrentCalls:
    """Counts the concurrent calls of each owner."""

    def __init__(self, maximum: int, maximum_per_owner: int) -> None:
        self.maximum, self.maximum_per_owner = maximum, maximum_per_owner
        self.numbers: Counter[tuple[str, Any]] = Counter()
        self.lock = threading.Lock()

    @contextmanager
    def add(self, owner: Model) -> Iterator[None]:
        """Count a call during the block. Raises TooManyExpensiveCalls."""
        key = (owner._meta.label, owner.pk)
        with self.lock:
            if self.numbers[key] >= self.maximum_per_owner or self.numbers.total() >= self.maximum:
                raise TooManyExpensiveCalls(wait=1)
            self.numbers[key] += 1
        try:
            yield
        finally:
            with self.lock:
                self.numbers[key] -= 1
                if not self.numbers[key]:
                    del self.numbers[key]


_expensive_calls = ConcurrentCalls(MAX_EXPENSIVE_CALLS, MAX_EXPENSIVE_CALLS_PER_OWNER)
_file_transfers = ConcurrentCalls(MAX_FILE_TRANSFERS, MAX_FILE_TRANSFERS_PER_OWNER)


@contextmanager
def expensive_call(owner: Model) -> Iterator[None]:
    """Limit the concurrent expensive calls of ``owner``, and of all owners, in this process.

    Raises TooManyExpensiveCalls.
    """
    with _expensive_calls.add(owner):
        yield


@contextmanager
def file_transfer(owner: Model) -> Iterator[None]:
    """Limit the concurrent uploads and downloads of files of ``owner``, and of all owners, in this process.

    Raises TooManyExpensiveCalls.
    """
    with _file_transfers.add(owner), _expensive_calls.add(owner):
        yield
