from contextlib import suppress

from django.core.exceptions import RequestDataTooBig


def read_body(get_response):
    """Read the body before the view, as middleware for logging or signatures does."""

    def middleware(request):
        with suppress(RequestDataTooBig):
            request.body  # noqa: B018
        return get_response(request)

    return middleware
