"""URLs in responses."""

from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from rest_framework.request import Request


def link(request: Request, **parameters: str | int) -> str:
    """Return the absolute URL of the request with other values of these query parameters."""
    query = urlencode({**request.query_params, **parameters})
    return request.build_absolute_uri(f"{escape_uri_path(request.path)}?{query}")
