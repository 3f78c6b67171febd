"""The size limits of request bodies, read at call time so that ``override_settings`` works."""

from django.conf import settings

DEFAULT_MAX_BODY_SIZE = 1024 * 1024
MIN_BATCH_LIMIT = 8 * 1024 * 1024


def max_body_size() -> int:
    """Return the maximum size of a request body in bytes, the setting ``API_MAX_BODY_SIZE``."""
    size: int = getattr(settings, "API_MAX_BODY_SIZE", DEFAULT_MAX_BODY_SIZE)
    return size


def max_batch_size() -> int:
    """Return the maximum size of a batch in bytes: 8 MiB, or ``API_MAX_BODY_SIZE`` if that is larger."""
    return max(MIN_BATCH_LIMIT, max_body_size())
