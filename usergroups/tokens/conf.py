"""The settings of tokens, read at call time so that ``override_settings`` works."""

from django.conf import settings

DEFAULT_RATE = "60000/min"
DEFAULT_FAILURE_RATE = "6000/min"


def token_rate() -> str | None:
    """Return ``API_TOKEN_RATE``, the rate limit of each token in DRF's format, or None for no limit."""
    rate: str | None = getattr(settings, "API_TOKEN_RATE", DEFAULT_RATE)
    return rate


def failure_rate() -> str | None:
    """Return ``API_FAILURE_RATE``, the rate limit of failed authentications per address, or None for no limit."""
    rate: str | None = getattr(settings, "API_FAILURE_RATE", DEFAULT_FAILURE_RATE)
    return rate


def trusted_proxies() -> int:
    """Return ``API_TRUSTED_PROXIES``, the number of proxies in front that add to X-Forwarded-For."""
    proxies: int = getattr(settings, "API_TRUSTED_PROXIES", 0)
    return proxies
