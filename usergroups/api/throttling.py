"""Limit the calls of a token and the failed authentications of an address.

Both are counted in Django's cache ``usergroups`` or, without one of this name,
in ``default``. Processes that share the cache share the counts. While the
cache is unavailable, there are no limits.
"""

import logging
import time
from contextlib import suppress
from math import ceil
from typing import Any, ClassVar, cast

from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS, caches
from rest_framework.exceptions import Throttled
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
    get_rate = staticmethod(conf.call_rate)

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
