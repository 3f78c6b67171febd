"""The time limit of a call.

BaseAPIView gives each request a Deadline. Whatever repeats work for a call
checks it: reading of bodies, deletions of many user groups, imports and
exports.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rest_framework.exceptions import APIException

T = TypeVar("T")


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
