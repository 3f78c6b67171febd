"""Asynchronous middleware, such as a host under ASGI may have."""

from django.utils.decorators import async_only_middleware


@async_only_middleware
def add_header(get_response):
    async def middleware(request):
        response = await get_response(request)
        response["X-Host"] = "async"
        return response

    return middleware
