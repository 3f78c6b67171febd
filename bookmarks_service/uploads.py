"""Limit the size of request bodies that the admin accepts from anonymous clients."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from .handlers import error_page, in_admin

MAX_ANONYMOUS_BODY = 64 * 1024  # bytes


def limit_uploads(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Refuse a large body before it is read, unless an operator is logged in.

    Django's CSRF check parses the form and stores its files before permissions are checked.
    """

    def middleware(request: HttpRequest) -> Any:
        if in_admin(request) and is_large(request) and not request.user.is_staff:
            return error_page(413)
        return get_response(request)

    return middleware


def is_large(request: HttpRequest) -> bool:
    """Return whether the body exceeds MAX_ANONYMOUS_BODY, or may exceed it."""
    size = request.META.get("CONTENT_LENGTH") or "0"
    return not size.isdecimal() or int(size) > MAX_ANONYMOUS_BODY
