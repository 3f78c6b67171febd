"""Read the rest of a body before a response that refuses it, such as 401 and 413."""

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from usergroups.contract.body import CHUNK_SIZE

from .handlers import View


def read_to_the_end(get_response: View) -> View:
    """Read the rest of a body behind a proxy. If the server closed the connection before, the proxy would respond 502.

    The proxy has received the whole body. Without one, waiting for the rest would let clients without a token occupy
    threads.
    """
    if not settings.USERGROUPS_TRUSTED_PROXIES:
        raise MiddlewareNotUsed

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        # Django's development server does not mark the end of a body.
        if response.status_code >= 400 and request.META.get("wsgi.input_terminated"):
            while request.META["wsgi.input"].read(CHUNK_SIZE):
                pass
        return response

    return middleware
