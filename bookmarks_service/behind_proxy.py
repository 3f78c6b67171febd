"""What the service does because of a proxy in front of it: it refuses plain
HTTP, reads bodies to the end, and counts failed logins by client.
"""

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from usergroups.api.errors import BadRequest, failure_response
from usergroups.api.parsers import CHUNK_SIZE
from usergroups.api.requests import address_of

from .handlers import View


def refuse_plain_http(get_response: View) -> View:
    """Refuse plain HTTP on the paths of the API.

    SecurityMiddleware redirects the others.
    """
    if not settings.SECURE_SSL_REDIRECT:
        raise MiddlewareNotUsed
    text = "Use HTTPS. Revoke any token that was sent without it."

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.is_secure():
            return get_response(request)
        return failure_response(BadRequest(text))

    return middleware


def read_to_the_end(get_response: View) -> View:
    """Read the rest of the body before an error response, if there is a proxy.

    Otherwise the server would close the connection, and a proxy that is still
    sending would respond with 502. A proxy sends the rest at once. Without a
    proxy, slow clients without a token could occupy threads.
    """
    if not settings.USERGROUPS_TRUSTED_PROXIES:
        raise MiddlewareNotUsed

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        is_error = response.status_code >= 400
        # A server that sets ``wsgi.input_terminated`` ends the stream with the
        # body. With others, such as Django's development server, reading would
        # wait forever.
        if is_error and request.META.get("wsgi.input_terminated"):
            body = request.META["wsgi.input"]
            while body.read(CHUNK_SIZE):
                pass
        return response

    return middleware


def client_address(request: HttpRequest) -> str:
    """Return the address to store with a failed login, by which django-axes
    limits failed logins.

    All clients with an unknown address share one. With NULL, django-axes would
    raise an error for concurrent failures, because its unique constraint
    treats NULLs as different.
    """
    return address_of(request) or "0.0.0.0"  # noqa: S104
