"""Limit the size of request bodies that the admin accepts from anonymous clients."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from usergroups.contract.body import may_exceed

from .handlers import error_page, in_admin

MAX_ANONYMOUS_BODY = 64 * 1024  # bytes


def limit_uploads(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Refuse a large body before it is read, unless an operator is logged in.

    Django's CSRF check parses the form and stores its files before permissions are checked.
    """

    def middleware(request: HttpRequest) -> Any:
        if in_admin(request) and may_exceed(request, MAX_ANONYMOUS_BODY) and not request.user.is_staff:
            return error_page(413)
        return get_response(request)

    return middleware
