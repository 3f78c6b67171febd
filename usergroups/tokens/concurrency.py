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

_calls: Counter[tuple[str, Any]] = Counter()
"""The number of calls in progress of each owner."""
_lock = threading.Lock()


@contextmanager
def expensive_call(owner: Model) -> Iterator[None]:
    """Count an expensive call of the owner during the block. Raises Throttled if too many are in progress."""
    key = (owner._meta.label, owner.pk)
    with _lock:
        if _calls[key] >= MAX_EXPENSIVE_CALLS_PER_OWNER or _calls.total() >= MAX_EXPENSIVE_CALLS:
            raise Throttled(wait=1)
        _calls[key] += 1
    try:
        yield
    finally:
        with _lock:
            _calls[key] -= 1
            if not _calls[key]:
                del _calls[key]
