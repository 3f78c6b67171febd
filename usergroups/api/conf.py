"""The settings of the API and of the rate limits, and the sizes of the bodies of
requests and responses, in bytes.

Settings are read at call time, so that ``override_settings`` works.
"""

from typing import TypeVar

from django.conf import settings

T = TypeVar("T")

KIB = 1024
MIB = 1024 * KIB

DEFAULT_MAX_BODY_SIZE = MIB

LARGE_BODY_SIZE = 64 * KIB
"""The size above which the body of a request makes a call costly."""

MAX_PAGE_SIZE = 2 * MIB
"""The maximum size of the large fields of a page."""

MAX_RETENTION_DAYS = 36_500  # about a century


RATE = r"[1-9]\d*/(s|sec|m|min|h|hour|d|day)"
"""The format of both rates, a regular expression."""


def max_body_size() -> int:
    """Return the maximum size of the body of a request, the setting
    ``USERGROUPS_MAX_BODY_SIZE``.
    """
    return _setting("USERGROUPS_MAX_BODY_SIZE", DEFAULT_MAX_BODY_SIZE)


def max_batch_size() -> int:
    """Return the maximum size of a batch: 8 MiB, or
    ``USERGROUPS_MAX_BODY_SIZE`` if that is larger.
    """
    return max(8 * MIB, max_body_size())


def call_time_limit() -> int:
    """Return the maximum duration of a call in seconds, the setting
    ``USERGROUPS_CALL_TIME_LIMIT``.
    """
    return _setting("USERGROUPS_CALL_TIME_LIMIT", 60)


def deletion_retention_days() -> int:
    """Return for how many days deletions are listed, the setting
    ``USERGROUPS_DELETION_RETENTION_DAYS``.
    """
    return _setting("USERGROUPS_DELETION_RETENTION_DAYS", 90)


def call_rate() -> str | None:
    """Return ``USERGROUPS_CALL_RATE``, the rate limit of each token in DRF's
    format, or None for no limit.
    """
    return _setting("USERGROUPS_CALL_RATE", "60000/min")


def failure_rate() -> str | None:
    """Return ``USERGROUPS_FAILURE_RATE``, the limit of failed authentications
    per address, or None for no limit.
    """
    return _setting("USERGROUPS_FAILURE_RATE", "6000/min")


def trusted_proxies() -> int:
    """Return ``USERGROUPS_TRUSTED_PROXIES``, the number of proxies that append
    to X-Forwarded-For.
    """
    return _setting("USERGROUPS_TRUSTED_PROXIES", 0)


def _setting(name: str, default: T) -> T:
    value: T = getattr(settings, name, default)
    return value
