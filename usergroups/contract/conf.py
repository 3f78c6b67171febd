"""The contract's setting, read at call time so that ``override_settings`` works."""

from django.conf import settings

DEFAULT_MAX_BODY_SIZE = 1024 * 1024


def max_body_size() -> int:
    """``API_MAX_BODY_SIZE``: how many bytes the body of a request may have."""
    size: int = getattr(settings, "API_MAX_BODY_SIZE", DEFAULT_MAX_BODY_SIZE)
    return size
