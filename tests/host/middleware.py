from contextlib import suppress

from django.core.exceptions import RequestDataTooBig


def read_body(get_response):
    """What middleware of hosts does, to log or to sign."""

    def middleware(request):
        with suppress(RequestDataTooBig):
            request.body  # noqa: B018
        return get_response(request)

    return middleware
