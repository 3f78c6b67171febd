from contextlib import suppress

from django.core.exceptions import RequestDataTooBig
from django.utils.decorators import async_only_middleware


def read_body(get_response):
    """Read the body before the view, as middleware for logging or signatures does."""

    def middleware(request):
        with suppress(RequestDataTooBig):
            request.body  # noqa: B018
        return get_response(request)

    return middleware


@async_only_middleware
def add_header(get_response):
    """Add a header, as asynchronous middleware of a host under ASGI may do."""

    async def middleware(request):
        response = await get_response(request)
        response["X-Host"] = "async"
        return response

    return middleware
