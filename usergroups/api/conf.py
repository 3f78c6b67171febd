"""The settings of the API and of the rate limits. That of the size of bodies is
in ``body_sizes``.

They are read at call time, so that ``override_settings`` works.
"""

from typing import TypeVar

from django.conf import settings

T = TypeVar("T")

MAX_RETENTION_DAYS = 36_500  # about a century


RATE = r"[1-9]\d*/(s|sec|m|min|h|hour|d|day)"
"""The format of both rates, a regular expression."""


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
