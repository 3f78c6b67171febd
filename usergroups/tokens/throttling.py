"""Limit the calls of a token, and the failed authentications of an address.

The counts are in Django's cache. Processes share them if they share the cache, and without it nothing is limited.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.core.cache import cache
from django.db.models import Model
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from . import conf
from .addresses import address_of

logger = logging.getLogger(__name__)

T = TypeVar("T")


class WindowThrottle(SimpleRateThrottle):
    """Count in windows of fixed length: two atomic operations of the cache, however high the rate."""

    num_requests: int
    duration: int

    def count(self, ident: str, calls: int) -> int:
        """Add to the number of calls in this window and return it."""
        key = f"usergroups.{self.scope}.{ident}.{int(time.time() // self.duration)}"
        return _unless_out_of_reach(lambda: _add(key, calls, self.duration), 0)

    def wait(self) -> float:
        """Return how many seconds are left of this window."""
        return self.duration - time.time() % self.duration


class TokenThrottle(WindowThrottle):
    scope = "token"
    used = 0

    def get_rate(self) -> str | None:
        return conf.rate()

    def allow_request(self, request: Request, view: APIView) -> bool:
        if self.rate is None:
            return True
        self.used = self.count(request.auth.digest.hex(), 1)  # type: ignore[union-attr]
        return self.used <= self.num_requests

    def headers(self) -> dict[str, str]:
        """Return the fields of the IETF's draft: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/"""
        if self.rate is None:
            return {}
        left = max(0, self.num_requests - self.used)
        return {
            "RateLimit-Policy": f'"{self.scope}";q={self.num_requests};w={self.duration}',
            "RateLimit": f'"{self.scope}";r={left};t={int(self.wait()) + 1}',
        }


class FailureThrottle(WindowThrottle):
    """Limit failed authentications per address. Failures from an unknown address are not counted."""

    scope = "failure"

    def get_rate(self) -> str | None:
        return conf.failure_rate()

    def check(self, request: Request) -> None:
        """Raise Throttled if there were too many failures, so that another token is not even looked up."""
        if self.rate is None or (address := address_of(request)) is None:
            return
        if self.count(address, 0) >= self.num_requests:
            raise Throttled(self.wait())

    def add(self, request: Request) -> None:
        """Count a failure."""
        if self.rate is not None and (address := address_of(request)) is not None:
            self.count(address, 1)


def _add(key: str, calls: int, seconds: int) -> int:
    if not calls:
        return int(cache.get(key, 0))
    if cache.add(key, calls, seconds):
        return calls
    try:
        return cache.incr(key, calls)
    except ValueError:  # the key has just expired
        return calls


class Outage:
    """Skip the cache for five seconds after it fails."""

    seconds = 5
    until = 0.0


def _unless_out_of_reach(operation: Callable[[], T], otherwise: T) -> T:
    if time.monotonic() < Outage.until:
        return otherwise
    try:
        return operation()
    except Exception as error:  # each cache backend raises its own
        Outage.until = time.monotonic() + Outage.seconds
        logger.warning("Calls are not counted: the cache is out of reach: %s", error)
        return otherwise


MAX_EXPENSIVE_CALLS = 4
"""How many expensive calls one owner may have under way in a process: half of its threads are left for others."""

_expensive_calls: Counter[tuple[str, Any]] = Counter()
_expensive_calls_lock = threading.Lock()


@contextmanager
def expensive_call(owner: Model) -> Iterator[None]:
    """Limit how many of the calls inside ``owner`` may have under way at once in this process.

    Raises Throttled if there are already four.
    """
    key = (owner._meta.label, owner.pk)
    with _expensive_calls_lock:
        if _expensive_calls[key] >= MAX_EXPENSIVE_CALLS:
            raise Throttled(wait=1)
        _expensive_calls[key] += 1
    try:
        yield
    finally:
        with _expensive_calls_lock:
            _expensive_calls[key] -= 1
            if not _expensive_calls[key]:
                del _expensive_calls[key]
