"""Limit the calls of a token and the failed authentications of an address.

Both are counted in Django's cache, so that processes that share a cache share
the counts. While the cache is unavailable, there are no limits.
"""

import logging
import time
from contextlib import suppress
from math import ceil
from typing import ClassVar

from django.core.cache import cache
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from . import conf
from .client_addresses import address_of

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
