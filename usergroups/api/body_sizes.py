"""The sizes of the bodies of requests and responses, in bytes."""

from django.conf import settings

KIB = 1024
MIB = 1024 * KIB

DEFAULT_MAX_BODY_SIZE = MIB

LARGE_BODY_SIZE = 64 * KIB
"""The size above which the body of a request makes a call costly."""

MAX_PAGE_SIZE = 2 * MIB
"""The maximum size of the large fields of a page."""

MAX_RESULTS_SIZE = 32 * MIB
"""The maximum size of the objects in the results of a batch.

A small batch may refer to many large objects, and load them all.
"""


def max_body_size() -> int:
    """Return the maximum size of the body of a request, the setting
    ``USERGROUPS_MAX_BODY_SIZE``.
    """
    size: int = getattr(settings, "USERGROUPS_MAX_BODY_SIZE", DEFAULT_MAX_BODY_SIZE)
    return size


def max_batch_size() -> int:
    """Return the maximum size of a batch: 8 MiB, or
    ``USERGROUPS_MAX_BODY_SIZE`` if that is larger.
    """
    return max(8 * MIB, max_body_size())
