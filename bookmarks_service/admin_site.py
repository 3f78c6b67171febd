"""The service's own admin site, whose first page tells how things stand."""

from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from django.contrib import admin
from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.template.response import TemplateResponse

from usergroups.tokens.throttling import address

from . import dashboard


class OperatorsSite(admin.AdminSite):
    site_header = site_title = "bookmarks_service"
    index_title = "How things stand"

    def get_urls(self) -> list[Any]:
        # Django's redirect to a row's own page, which no row here has, fails with bad keys.
        return [url for url in super().get_urls() if getattr(url, "name", None) != "view_on_site"]

    def autocomplete_view(self, request: HttpRequest) -> Any:
        if "\0" in request.GET.get("term", ""):
            raise BadRequest("There is no such text.")
        return super().autocomplete_view(request)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        def may_view(model: Any) -> bool:
            return model in self._registry and self._registry[model].has_view_permission(request)

        visible = [model for model in self._registry if may_view(model)]
        return super().index(request, {**(extra_context or {}), "dashboard": dashboard.panels(visible)})


def client_address(request: Any) -> str | None:
    """Return whose failed logins are counted together."""
    with suppress(ValueError):
        return str(ip_address(address(request)))
    return None
