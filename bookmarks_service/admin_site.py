"""The service's admin site, whose first page is a dashboard, and what its failed logins are counted by."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.template.response import TemplateResponse

from usergroups.tokens.addresses import address_of

from . import dashboard

# Not null: to a unique constraint null equals nothing, so that concurrent failures would leave two rows of an attempt,
# and django-axes fails where it expects one.
UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104


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


def client_address(request: Any) -> str:
    """Return the address that failed logins are stored with."""
    return address_of(request) or UNKNOWN_ADDRESS


def lockout_parameters(request: Any, credentials: Any = None) -> list[Any]:
    """Return what failed logins are counted by: the address, or if it is unknown, the username.

    Counting by address keeps others from locking an operator out. Clients with unknown addresses are not counted
    together, because one of them could lock out all; and not with clients that have an address.
    """
    if client_address(request) == UNKNOWN_ADDRESS:
        return [["username", "ip_address"]]
    return ["ip_address"]
