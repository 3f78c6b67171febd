"""The admin site, whose index page shows what needs attention.

It has no theme such as django-unfold. A theme replaces the CSS, but not the
code for Find, confirmations, lists, forms and secrets, and Unfold needs
``unsafe-eval`` and inline styles, which the content security policy forbids.
"""

from typing import Any, NamedTuple

from axes.decorators import axes_dispatch
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import BadRequest
from django.db.models import Manager, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import AccessToken, Bookmark
from usergroups.admin_tools.event_list import recent_events
from usergroups.admin_tools.find_site import FindSite
from usergroups.admin_tools.pages import admin_url, can_view
from usergroups.admin_tools.paginator import MAX_LISTED, bounded_number, newest_rows
from usergroups.models import ApiToken, Team, UserGroup
from usergroups.tokens.models import Token

from .admin_charts import (
    Chart,
    bookmarks_by_day,
    days_until_today,
    draw,
    tokens_by_week,
    weeks_from_today,
)
from .expiring_tokens import can_view_tokens, expiring_tokens_page
from .token_panels import TokenPanel, token_panels

MAX_EVENTS = 5  # on the index page


NAVIGATION = [
    (_("Customers"), ["UserGroup", "Team"]),
    (_("Tokens"), ["ApiToken", "AccessToken", "ExpiringTokens"]),
    (_("Bookmarks"), ["Bookmark", "Collection"]),
    (_("Administration"), ["Event", "User", "Group"]),
]
"""The groups of lists in the navigation, and their models, in the order of
use.
"""


def grouped(apps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the models of Django's list of apps by groups of the navigation.

    Models that are in no group come last, by their apps.
    """
    entries = {entry["object_name"]: entry for app in apps for entry in app["models"]}
    groups = []
    for name, model_names in NAVIGATION:
        models = [entries.pop(each) for each in model_names if each in entries]
        if models:
            groups.append({"name": name, "app_label": "", "models": models})
    for app in apps:
        models = [each for each in app["models"] if each["object_name"] in entries]
        if models:
            groups.append({**app, "models": models})
    return groups


def limit_text(is_limited: bool) -> str:
    """Return the number of rows that were read if there are others, otherwise
    an empty text.
    """
    return intcomma(MAX_LISTED) if is_limited else ""


class Step(NamedTuple):
    """A step of the set-up, which links to the page where it is done."""

    text: str
    url: str
    done: bool


class OperatorsSite(FindSite):
    """The admin site of the service."""

    site_header = site_title = "bookmarks_service"
    index_title = _("Overview")
    site_url = None
    enable_nav_sidebar = False  # templates/admin/base_site.html links to all lists.

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        apps = super().get_app_list(request, app_label)
        # Name each list by its heading.
        for app in apps:
            for entry in app["models"]:
                model_admin = self.get_model_admin(entry["model"])
                title = getattr(model_admin, "list_title", "")
                if title:
                    entry["name"] = title
        if app_label is not None:
            return apps
        if can_view_tokens(self, request):
            expiring_tokens = {
                "object_name": "ExpiringTokens",
                "name": gettext("Expiring tokens"),
                "admin_url": reverse(f"{self.name}:expiring_tokens"),
            }
            apps.append({"models": [expiring_tokens]})
        return grouped(apps)

    def get_urls(self) -> list[URLResolver | URLPattern]:
        view = self.admin_view(self.expiring_tokens_view)
        urls: list[URLResolver | URLPattern] = [
            path("expiring-tokens/", view, name="expiring_tokens")
        ]
        for url in super().get_urls():
            # No model has get_absolute_url(), and Django's redirect to it
            # raises an error for malformed keys.
            if getattr(url, "name", None) != "view_on_site":
                urls.append(url)
        return urls

    def expiring_tokens_view(self, request: HttpRequest) -> HttpResponse:
        return expiring_tokens_page(self, request)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST" and not settings.PASSWORD_LOGIN:
            raise Http404
        context: dict[str, Any] = {
            "password_login": settings.PASSWORD_LOGIN,
            "single_sign_on": bool(settings.OIDC_ISSUER),
        }
        if extra_context:
            context |= extra_context
        return super().login(request, context)

    @method_decorator(axes_dispatch)
    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
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

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """Refuse a search term that PostgreSQL would raise an error for."""
        if "\0" in request.GET.get("term", ""):
            raise BadRequest("The search term must not contain null characters.")
        return super().autocomplete_view(request)

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        tokens: list[TokenPanel] = []
        charts = self.bookmark_charts(request)
        for model in (ApiToken, AccessToken):
            if can_view(self, request, model):
                model_admin = self.get_model_admin(model)
                newest, is_limited = newest_rows(model_admin.get_queryset(request))
                tokens += token_panels(model_admin, request, newest, is_limited)
                charts.append(self.token_chart(model, newest, is_limited))
        panels = {
            "steps": self.first_steps(request),
            "user_groups": self.number_of_user_groups(request),
            "charts": charts,
            "tokens": tokens,
            "recent_events": recent_events(self, request, MAX_EVENTS),
        }
        return super().index(request, {"panels": panels} | (extra_context or {}))

    def first_steps(self, request: HttpRequest) -> list[Step]:
        """Return the set-up steps that the user may do, or none if all are
        done.
        """
        used_tokens = ApiToken.objects.exclude(last_used_at=None)
        others = User.objects.exclude(username=request.user.get_username())
        # the rows which show that the step is done, the page of the admin that
        # it links to, or "" for the documentation of the API, and its text
        steps: list[tuple[QuerySet[Any] | Manager[Any], str, str]] = [
            (Team.objects, "add", gettext("Add a team")),
            (
                ApiToken.objects,
                "add",
                gettext("Issue an API token to the team's application"),
            ),
            (used_tokens, "", gettext("Call the API with the token")),
            (UserGroup.objects, "", gettext("Create a user group with POST /api/user")),
            (
                Bookmark.objects,
                "import",
                gettext("Import bookmarks, or create them with POST /v1/bookmarks"),
            ),
            (others, "add", gettext("Create an account for each operator")),
        ]
        result = []
        for rows, page, text in steps:
            model_admin = self.get_model_admin(rows.model)
            if not model_admin.has_add_permission(request):
                continue
            url = reverse("docs")
            if page:
                url = admin_url(self, rows.model._meta, page)
            result.append(Step(text, url, rows.exists()))
        if all(step.done for step in result):
            return []
        return result

    def number_of_user_groups(self, request: HttpRequest) -> str:
        """Return the number of user groups, up to MAX_LISTED, or an empty text
        if the user may not view them.
        """
        if not can_view(self, request, UserGroup):
            return ""
        return bounded_number(self.get_model_admin(UserGroup).get_queryset(request))

    def bookmark_charts(self, request: HttpRequest) -> list[Chart]:
        """Return the chart of the latest bookmarks, if the user may view them.

        No index has the days on which bookmarks of all user groups were
        created, so the newest bookmarks are counted.
        """
        if not can_view(self, request, Bookmark):
            return []
        rows = self.get_model_admin(Bookmark).get_queryset(request)
        newest, is_limited = newest_rows(rows)
        title = gettext("Bookmarks of the last 30 days")
        counts = bookmarks_by_day(newest)
        return [draw(title, days_until_today(), counts, limit_text(is_limited))]

    def token_chart(
        self, model: type[Token], newest: "QuerySet[Any]", is_limited: bool
    ) -> Chart:
        """Return the chart of the tokens that expire in the next weeks."""
        title = gettext("%(names)s that expire in the next 8 weeks")
        title %= {"names": capfirst(model._meta.verbose_name_plural)}
        counts = tokens_by_week(newest)
        return draw(title, weeks_from_today(), counts, limit_text(is_limited))
