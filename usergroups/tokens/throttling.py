"""Limit the calls of a token, the failed authentications of an address, and
the calls in progress.

Each process counts its calls in progress in memory. The calls of tokens and
the failures are counted in Django's cache, so that processes that share a
cache share the counts. While the cache is unavailable, these two have no
limit.
"""

import logging
import threading
import time
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import Any, ClassVar

from django.core.cache import cache
from django.db.models import Model
from django.http import HttpRequest
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from usergroups.contract import conf

logger = logging.getLogger(__name__)

CACHE_OUTAGE = 5  # seconds during which the cache is not used after it has failed


class FixedWindowThrottle(SimpleRateThrottle):
    """Counts calls in windows of fixed length.

    Each call takes one atomic cache operation whatever the rate is. The first
    one of a window takes two.
    """

    num_requests: int  # in a window
    duration: int  # of a window, in seconds
    cache_fails_until: ClassVar[float] = 0
    """The ``time.monotonic()`` until which all throttles skip the cache,
    because it has failed.
    """

    def count(self, ident: str) -> int:
        """Add a call to the count of the current window and return the count,
        or 0 while the cache fails.

        Set ``seconds_left``, the time until the window ends.
        """
        window, elapsed = divmod(self.timer(), self.duration)
        self.seconds_left = self.duration - elapsed
        if time.monotonic() < FixedWindowThrottle.cache_fails_until:
            return 0
        key = f"usergroups.{self.scope}.{ident}.{int(window)}"
        try:
            with suppress(ValueError):  # The window has no calls yet.
                return cache.incr(key)
            return 1 if cache.add(key, 1, self.duration) else cache.incr(key)
        except ValueError:  # The key has just expired.
            return 1
        except Exception as error:  # Cache backends raise different exceptions.
            FixedWindowThrottle.cache_fails_until = time.monotonic() + CACHE_OUTAGE
            logger.warning(
                "Calls are not counted, because the cache is unavailable: %s", error
            )
            return 0

    def wait(self) -> float:
        return self.seconds_left


class TokenThrottle(FixedWindowThrottle):
    """Limits the calls of each token, and adds the headers
    ``RateLimit-Policy`` and ``RateLimit`` to the response.

    https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
    """

    scope = "token"
    get_rate = staticmethod(conf.call_rate)

    def allow_request(self, request: Request, view: APIView) -> bool:
        if self.rate is None:
            return True
        used = self.count(request.auth.digest.hex())  # type: ignore[union-attr]
        remaining = max(0, self.num_requests - used)
        view.headers["RateLimit-Policy"] = (
            f'"{self.scope}";q={self.num_requests};w={self.duration}'
        )
        view.headers["RateLimit"] = (
            f'"{self.scope}";r={remaining};t={ceil(self.seconds_left)}'
        )
        return used <= self.num_requests


def address_of(request: HttpRequest | Request) -> str | None:
    """Return the address of the client, as the outermost trusted proxy saw it,
    or None if it is unknown.

    For IPv6 this is the first address of the /64 network, since a client
    usually has a whole network. An IPv4-mapped address counts as the IPv4
    address. The address is unknown if it is not valid, for example because it
    has a port, if X-Forwarded-For has fewer addresses than there are trusted
    proxies or, without any, if the server listens on a Unix socket. API
    clients with unknown addresses must not share a rate limit.
    """
    hops = [request.META.get("REMOTE_ADDR") or ""]
    if proxies := conf.trusted_proxies():
        hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    try:
        address = ip_address(hops[-(proxies or 1)].strip())
    except (IndexError, ValueError):
        return None
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64)
    return str(address)


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
        if self.rate is None or (address := address_of(request)) is None:
            return
        if self.count(address) > self.num_requests:
            raise Throttled(self.seconds_left)


class ConcurrencyLimit:
    """Limits the calls in progress in this process.

    ``per_owner`` is the maximum number of calls of one owner, and ``in_total``
    that of all owners, or None for no limit.
    """

    def __init__(self, per_owner: int, in_total: int | None = None) -> None:
        self.per_owner = per_owner
        self.in_total = in_total
        self._lock = threading.Lock()
        self._calls: dict[tuple[type[Model], Any], int] = {}
        """The number of calls in progress of each owner that has any."""

    def begin(self, owner: Model) -> None:
        """Count a call of the owner, until ``end`` is called.

        Raises Throttled if too many are in progress. A call does not wait for
        another one to end, because it would hold its thread meanwhile.
        """
        key = (type(owner), owner.pk)
        with self._lock:
            calls = self._calls.get(key, 0)
            if calls >= self.per_owner or self._is_full():
                raise Throttled(wait=1)
            self._calls[key] = calls + 1

    def end(self, owner: Model) -> None:
        """Stop counting a call that has begun."""
        key = (type(owner), owner.pk)
        with self._lock:
            calls = self._calls.pop(key)
            if calls > 1:
                self._calls[key] = calls - 1

    def _is_full(self) -> bool:
        return self.in_total is not None and sum(self._calls.values()) >= self.in_total


ANY_CALLS = ConcurrencyLimit(per_owner=6)
"""The limit of all calls.

It leaves two of a process's eight threads for others.

Calls of one owner may wait for each other, for example for the lock on a row.
"""

COSTLY_CALLS = ConcurrencyLimit(per_owner=3, in_total=6)
"""The limit of costly calls, to which the limit of all calls applies as well.
"""
