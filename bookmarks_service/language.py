"""The language of the admin and the start page, which is the one that the browser asks for."""

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

from .handlers import View, in_admin


def localize_pages(get_response: View) -> View:
    """Apply Django's LocaleMiddleware to these pages only. Responses of the API are the same in any language."""
    localized: View = LocaleMiddleware(get_response)  # type: ignore[assignment]  # get_response is synchronous.

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not (in_admin(request) or request.path_info == "/"):
            return get_response(request)
        # LocaleMiddleware leaves its language active, and the thread may serve an API request next.
        with translation.override(settings.LANGUAGE_CODE):
            return localized(request)

    return middleware
