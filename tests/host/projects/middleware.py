"""Asynchronous middleware, as a host under ASGI has."""

from django.utils.decorators import async_only_middleware


@async_only_middleware
def add_header(get_response):
    async def middleware(request):
        response = await get_response(request)
        response["X-Host"] = "async"
        return response

    return middleware
