"""The service's own admin site, whose first page tells how things stand."""

from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse

from usergroups.tokens.throttling import address

from . import dashboard


class OperatorsSite(admin.AdminSite):
    site_header = site_title = "bookmarks_service"
    index_title = "How things stand"

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
