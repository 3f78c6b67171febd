"""The admin site, whose index page shows what needs attention, and the limit on failed logins."""

from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.columns import can_view
from usergroups.admin_tools.find_site import FindSite
from usergroups.tokens.addresses import address_of

from . import admin_index

# Stored in place of NULL, because a unique constraint treats NULLs as different. Concurrent failures would otherwise
# store duplicate attempts, for which django-axes raises an error.
UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104

NAMES = {"LogEntry": _("Changes"), "Group": _("Roles")}
"""What the links to the lists of Django's models say."""


class OperatorsSite(FindSite):
    """The admin site of the service."""

    site_header = site_title = "bookmarks_service"
    index_title = _("Overview")
    site_url = None
    enable_nav_sidebar = False  # templates/admin/base_site.html links to all lists.

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = super().get_app_list(request, app_label)
        for model in (model for app in apps for model in app["models"]):
            model["name"] = NAMES.get(model["object_name"], model["name"])
        # What operators use most comes first.
        order = {"usergroups": 0, "bookmarks": 1}
        return sorted(apps, key=lambda app: order.get(app["app_label"], len(order)))

    def get_urls(self) -> list[Any]:
        # No model has get_absolute_url(), and Django's redirect to it raises an error for malformed keys.
        return [url for url in super().get_urls() if getattr(url, "name", None) != "view_on_site"]

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method == "POST" and not settings.PASSWORD_LOGIN:
            raise Http404
        offered = {"password_login": settings.PASSWORD_LOGIN, "single_sign_on": bool(settings.OIDC_ISSUER)}
        return super().login(request, {**offered, **(extra_context or {})})

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        if not settings.PASSWORD_LOGIN:
            raise Http404
        return super().password_change(request, extra_context)

    def autocomplete_view(self, request: HttpRequest) -> Any:
        if "\0" in request.GET.get("term", ""):
            raise BadRequest("The search term must not contain null characters.")
        return super().autocomplete_view(request)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        visible = [model for model in apps.get_models() if can_view(self, request, model)]
        return super().index(request, {**(extra_context or {}), "panels": admin_index.panels(self, request, visible)})


def client_address(request: Any) -> str:
    """Return the client address to store with a failed login."""
    return address_of(request) or UNKNOWN_ADDRESS


def lockout_parameters(request: Any, credentials: Any = None) -> list[Any]:
    """Return the attributes by which django-axes limits failed logins: the address or, if it is unknown, the username.

    A limit by address prevents others from locking an operator out. Clients with unknown addresses do not share a
    limit, because one of them could lock out all the others.
    """
    if client_address(request) == UNKNOWN_ADDRESS:
        return [["username", "ip_address"]]
    return ["ip_address"]
