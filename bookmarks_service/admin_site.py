"""The admin site, whose index page shows what needs attention.

It has no theme such as django-unfold. A theme replaces the CSS, but not the
code for Find, confirmations, lists, forms and secrets, and Unfold needs
``unsafe-eval`` and inline styles, which the content security policy forbids.
"""

from axes.decorators import axes_dispatch
from django.conf import settings
from django.contrib.auth.signals import user_login_failed
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.event_list import recent_events
from usergroups.admin_tools.find_site import FindSite

from .needs_today import lines_for

MAX_EVENTS = 5  # on the index page


NAVIGATION = [
    "UserGroup",
    "Team",
    "ApiToken",
    "AccessToken",
    "Bookmark",
    "Event",
    "User",
    "Group",
]
"""The models of the lists in the navigation, in the order of use. The
page of a user group leads to its collections.
"""


class OperatorsSite(FindSite):
    """The admin site of the service."""

    site_header = site_title = "bookmarks_service"
    index_title = _("Overview")
    site_url = None
    enable_nav_sidebar = False  # templates/admin/base_site.html links to all lists.

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, object]]:
        """Return one list of the models in NAVIGATION, in place of apps."""
        apps = super().get_app_list(request, app_label)
        entries = [entry for app in apps for entry in app["models"]]
        # Name each list by its heading.
        for entry in entries:
            model_admin = self.get_model_admin(entry["model"])
            entry["name"] = getattr(model_admin, "list_title", "") or entry["name"]
        if app_label is not None:
            return apps
        by_name = {entry["object_name"]: entry for entry in entries}
        entries = [by_name[name] for name in NAVIGATION if name in by_name]
        # Without an entry, the index page says so.
        return [{"name": "", "app_label": "", "models": entries}] if entries else []

    def get_urls(self) -> list[URLResolver | URLPattern]:
        # No model has get_absolute_url(), and Django's redirect to it raises an
        # error for malformed keys.
        urls = super().get_urls()
        return [url for url in urls if getattr(url, "name", "") != "view_on_site"]

    def login(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        """Offer the kinds of sign-in that the settings allow."""
        if request.method == "POST" and not settings.PASSWORD_LOGIN:
            raise Http404
        context: dict[str, object] = {
            "password_login": settings.PASSWORD_LOGIN,
            "single_sign_on": bool(settings.OIDC_ISSUER),
        }
        return super().login(request, context | (extra_context or {}))

    @method_decorator(axes_dispatch)
    def password_change(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> TemplateResponse:
        """Change the user's password.

        A wrong old password counts as a failed login, so that a stolen session
        cannot be used to guess it.
        """
        if not settings.PASSWORD_LOGIN:
            raise Http404
        response = super().password_change(request, extra_context)
        # Only a form with errors has a context. After a success, the response
        # is a redirect.
        context = getattr(response, "context_data", None) or {}
        form = context.get("form")
        if form and form.has_error("old_password", "password_incorrect"):
            credentials = {"username": request.user.get_username()}
            user_login_failed.send(__name__, credentials=credentials, request=request)
        return response

    def index(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> TemplateResponse:
        """Add what needs somebody today, and the last events."""
        events = recent_events(self, request, MAX_EVENTS)
        context = {"lines": lines_for(self, request), "events": events}
        return super().index(request, context | (extra_context or {}))
