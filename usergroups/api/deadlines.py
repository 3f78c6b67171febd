"""The time limit of a call.

BaseAPIView gives each request a Deadline. Whatever repeats work for a call
checks it: reading of bodies, deletions of many user groups, imports and
exports.
"""

import ctypes
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Timer, get_ident
from typing import TypeVar

from rest_framework.exceptions import APIException

T = TypeVar("T")

GRACE = 0.5  # seconds in which a block can check the deadline itself


class TimeLimitExceeded(APIException):
    """A call was ended, because it took longer than its time limit."""

    status_code = 503
    default_code = "time_limit_exceeded"
    default_detail = (
        "The call took too long and was ended. Try again later, or ask for less."
    )
    wait = 60  # seconds, for the header Retry-After


class Deadline:
    """The time at which a call must end, a number of seconds from now.

    WSGI does not tell a view that its client has gone. Code that repeats work
    for a call therefore checks the deadline each time.
    """

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def has_passed(self) -> bool:
        return self._clock() >= self._end

    def enforce(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items.

        Raises TimeLimitExceeded once the deadline has passed.
        """
        for item in items:
            if self.has_passed():
                raise TimeLimitExceeded
            yield item

    @contextmanager
    def interrupt(self) -> Iterator[None]:
        """Raise TimeLimitExceeded in the block when the deadline passes, even
        if the block loops without checking it, but not in its first half
        second.

        The block must only compute, because the exception may come between any
        two instructions.
        """
        remaining = self._end - self._clock()
        thread = ctypes.c_ulong(get_ident())
        raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
        exception = ctypes.py_object(TimeLimitExceeded)
        timer = Timer(max(remaining, GRACE), raise_in, (thread, exception))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            # It may have been set, but not raised yet.
            raise_in(thread, None)
