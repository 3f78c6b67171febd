"""Limit the calls of a token and the failed authentications of an address, the
calls in progress, and how long they take.

Calls and failures are counted in Django's cache ``usergroups`` or, without one
of this name, in ``default``. Processes that share the cache share the counts.
While the cache is unavailable, these two are not limited.
"""

import ctypes
import logging
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import ceil
from secrets import randbelow
from threading import Event, Lock, Timer, get_ident
from typing import Any, ClassVar, TypeVar, cast

from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS, caches
from django.db import connections
from rest_framework.exceptions import APIException, Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from . import conf
from .requests import APIRequest, address_of

logger = logging.getLogger(__name__)


CACHE_ALIAS = "usergroups"

CACHE_OUTAGE = 5
"""The seconds during which the cache is not used after it has failed."""


def cache_alias() -> str:
    """Return the name of the cache that counts calls and failures."""
    if CACHE_ALIAS in settings.CACHES:
        return CACHE_ALIAS
    return DEFAULT_CACHE_ALIAS


class FixedWindowThrottle(SimpleRateThrottle):
    """Counts calls in windows of fixed length.

    Each call takes one atomic cache operation whatever the rate is. The first
    one of a window takes two.
    """

    num_requests: int
    """The maximum number of calls in a window."""
    duration: int
    """The length of a window in seconds."""
    cache_fails_until: ClassVar[float] = 0
    """The ``time.monotonic()`` until which all throttles skip the cache,
    because it has failed.
    """

    def count(self, ident: str) -> int:
        """Add a call to the count of the current window and return the count,
        or 0 while the cache fails.

        Set ``seconds_left``, the time until the window ends.
        """
        # The windows since 1970 are numbered.
        window, elapsed = divmod(self.timer(), self.duration)
        self.seconds_left = self.duration - elapsed
        if time.monotonic() < FixedWindowThrottle.cache_fails_until:
            return 0
        key = f"usergroups.{self.scope}.{ident}.{int(window)}"
        try:
            return self._increment(key)
        # Cache backends raise different exceptions.
        except Exception as error:
            FixedWindowThrottle.cache_fails_until = time.monotonic() + CACHE_OUTAGE
            logger.warning(
                "Calls are not counted, because the cache is unavailable: %s", error
            )
            return 0

    def _increment(self, key: str) -> int:
        cache = caches[cache_alias()]
        # incr() raises ValueError if the window has no calls yet.
        with suppress(ValueError):
            return cache.incr(key)
        if cache.add(key, 1, self.duration):
            return 1
        # Another process has just added the key.
        return cache.incr(key)

    def wait(self) -> float:
        return self.seconds_left


class TokenThrottle(FixedWindowThrottle):
    """Limits the calls of each token, together with those of the tokens that
    it replaces and that replace it.

    It also sets the response headers ``RateLimit-Policy`` and ``RateLimit``,
    which a BaseAPIView takes from the request.

    https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
    """

    scope = "token"

    def get_rate(self) -> str | None:
        """Return the setting or, for a subclass with another ``scope`` and
        without a ``rate``, DRF's rate of this scope.
        """
        if self.scope == TokenThrottle.scope:
            return conf.call_rate()
        return super().get_rate()

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """Return the model of the token and its chain of rotations, by which
        the calls are counted.

        A subclass may return None not to count a call.
        """
        token: Any = request.auth
        return f"{token._meta.label_lower}.{token.chain}"

    def allow_request(self, request: Request, view: APIView) -> bool:
        if self.rate is None:
            return True
        key = self.get_cache_key(request, view)
        if key is None:
            return True
        used = self.count(key)
        remaining = max(0, self.num_requests - used)
        seconds_left = ceil(self.seconds_left)
        policy = f'"{self.scope}";q={self.num_requests};w={self.duration}'
        state = f'"{self.scope}";r={remaining};t={seconds_left}'
        headers = {"RateLimit-Policy": policy, "RateLimit": state}
        cast(APIRequest, request).rate_limit_headers = headers
        return used <= self.num_requests


class FailedAuthenticationThrottle(FixedWindowThrottle):
    """Limits failed authentications per address.

    Failures from unknown addresses are not counted.
    """

    scope = "failure"
    get_rate = staticmethod(conf.failure_rate)

    def add(self, request: Request) -> None:
        """Count a failure.

        Raises Throttled if there are too many in the current window.

        A valid token is accepted nevertheless, because other clients may have
        the same address.
        """
        address = address_of(request)
        if self.rate is None or address is None:
            return
        if self.count(address) > self.num_requests:
            raise Throttled(self.seconds_left)


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
        exception = ctypes.py_object(TimeLimitExceeded)
        in_block = Lock()
        has_ended = False

        def raise_in_block() -> None:
            with in_block:
                # Do not set an exception that the block no longer raises. If
                # it were cleared, Python 3.11 would loop for ever in the next
                # function that a profiler or a debugger traces.
                if not has_ended:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, exception)

        timer = Timer(max(remaining, GRACE), raise_in_block)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            # An exception that has been set is raised here at the latest.
            with in_block:
                has_ended = True
            timer.cancel()


MAX_WAITING = 200
"""The maximum number of waiting calls of one owner."""

MAX_WAIT = 10
"""The seconds after which a call waits no longer, as long as a statement waits
for a lock.
"""


class TooManyCalls(Throttled):
    """Too many calls of the owner are in progress.

    The ``Retry-After`` is random, so that those who were refused together do
    not come back together.
    """

    def __init__(self) -> None:
        super().__init__(wait=1 + randbelow(5))


class ConcurrencyLimit:
    """Limits the calls in progress in this process.

    ``per_owner`` is the maximum number of calls of one owner, and ``in_total``
    that of all owners, or None for no limit. An owner is any hashable object.
    """

    def __init__(self, per_owner: int, in_total: int | None = None) -> None:
        self.per_owner = per_owner
        self.in_total = in_total
        self._lock = Lock()
        self._calls: Counter[Hashable] = Counter()
        """The number of calls in progress of each owner that has any."""
        self._waiting: list[tuple[Hashable, Event]] = []
        """The owners of the waiting calls, with the events that begin them.
        The first has waited longest.
        """

    def begin(self, owner: Hashable) -> None:
        """Wait for the turn of a call of this owner, and count the call until
        ``end`` is called.

        Raises TooManyCalls if too many are waiting, or if the turn does not
        come in time.
        """
        with self._lock:
            if self._has_place(owner):
                self._calls[owner] += 1
                return
            owners = [waiting_owner for waiting_owner, _ in self._waiting]
            if owners.count(owner) >= MAX_WAITING:
                raise TooManyCalls
            turn = Event()
            self._waiting.append((owner, turn))
        _give_connections_back()
        if turn.wait(MAX_WAIT):
            return
        with self._lock:
            if turn.is_set():
                return
            self._waiting.remove((owner, turn))
        raise TooManyCalls

    def end(self, owner: Hashable) -> None:
        """Stop counting a call that has begun, and begin the one that has
        waited longest, if its owner may have one more.
        """
        with self._lock:
            self._calls[owner] -= 1
            if not self._calls[owner]:
                del self._calls[owner]
            for number, (waiting_owner, turn) in enumerate(self._waiting):
                if self._has_place(waiting_owner):
                    del self._waiting[number]
                    self._calls[waiting_owner] += 1
                    turn.set()
                    break

    def _has_place(self, owner: Hashable) -> bool:
        """Whether this owner may have one more call.

        The last place of all is for an owner that has none.
        """
        calls = self._calls[owner]
        if calls >= self.per_owner:
            return False
        if self.in_total is None:
            return True
        free = self.in_total - self._calls.total()
        return free > 1 or (free == 1 and calls == 0)


def _give_connections_back() -> None:
    """Give connections back to the pool. A persistent connection stays open,
    and so does one with a transaction of the host.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


ANY_CALLS = ConcurrencyLimit(per_owner=6)
"""The limit of all calls, whose owners are those of the tokens.

It leaves two of a process's eight connections to the database for other
owners, because the calls of one owner may wait for each other, for example for
the lock on a row.
"""


COSTLY_CALLS = ConcurrencyLimit(per_owner=3, in_total=6)
"""The limit of costly calls, which count for the limit of all calls as well.

The owners are the ids of teams, because a team can have any number of user
groups.
"""
