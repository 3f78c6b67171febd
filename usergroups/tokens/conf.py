"""The tokens' settings, read at call time so that ``override_settings`` works."""

from django.conf import settings

DEFAULT_RATE = "60000/min"
DEFAULT_FAILURE_RATE = "6000/min"


def rate() -> str | None:
    """``API_TOKEN_RATE``: how many calls each token may make, as DRF writes rates; None: any number."""
    rate: str | None = getattr(settings, "API_TOKEN_RATE", DEFAULT_RATE)
    return rate


def failure_rate() -> str | None:
    """``API_FAILURE_RATE``: how many bad tokens may come from an address before it is not listened to; None: any."""
    rate: str | None = getattr(settings, "API_FAILURE_RATE", DEFAULT_FAILURE_RATE)
    return rate


def trusted_proxies() -> int:
    """``API_TRUSTED_PROXIES``: how many proxies in front add the address that they see to X-Forwarded-For."""
    proxies: int = getattr(settings, "API_TRUSTED_PROXIES", 0)
    return proxies
