"""The settings of the API, read at call time so that ``override_settings``
works.
"""

from django.conf import settings

DEFAULT_MAX_BODY_SIZE = 1024 * 1024


DEFAULT_CALL_RATE = "60000/min"


DEFAULT_FAILURE_RATE = "6000/min"


DEFAULT_CALL_TIME_LIMIT = 60


MIN_BATCH_LIMIT = 8 * 1024 * 1024


RATE = r"[1-9]\d*/(s|sec|m|min|h|hour|d|day)"
"""The format of both rates, a regular expression."""


def max_body_size() -> int:
    """Return the maximum size of a request body in bytes, the setting
    ``USERGROUPS_MAX_BODY_SIZE``.
    """
    size: int = getattr(settings, "USERGROUPS_MAX_BODY_SIZE", DEFAULT_MAX_BODY_SIZE)
    return size


def max_batch_size() -> int:
    """Return the maximum size of a batch in bytes: 8 MiB, or
    ``USERGROUPS_MAX_BODY_SIZE`` if that is larger.
    """
    return max(MIN_BATCH_LIMIT, max_body_size())


def call_time_limit() -> int:
    """Return the maximum duration of a call in seconds.

    It is the setting ``USERGROUPS_CALL_TIME_LIMIT``.
    """
    seconds: int = getattr(
        settings, "USERGROUPS_CALL_TIME_LIMIT", DEFAULT_CALL_TIME_LIMIT
    )
    return seconds


def call_rate() -> str | None:
    """Return ``USERGROUPS_CALL_RATE``, the rate limit of each token in DRF's
    format, or None for no limit.
    """
    rate: str | None = getattr(settings, "USERGROUPS_CALL_RATE", DEFAULT_CALL_RATE)
    return rate


def failure_rate() -> str | None:
    """Return ``USERGROUPS_FAILURE_RATE``, the limit of failed authentications
    per address, or None for no limit.
    """
    rate: str | None = getattr(
        settings, "USERGROUPS_FAILURE_RATE", DEFAULT_FAILURE_RATE
    )
    return rate


def trusted_proxies() -> int:
    """Return ``USERGROUPS_TRUSTED_PROXIES``, the number of proxies that append
    to X-Forwarded-For.
    """
    proxies: int = getattr(settings, "USERGROUPS_TRUSTED_PROXIES", 0)
    return proxies
