"""The admin site, whose index page shows what needs attention.

It has no theme such as django-unfold. A theme replaces the CSS, but not the
code for Find, confirmations, lists, forms and secrets, and Unfold needs
``unsafe-eval`` and inline styles, which the content security policy forbids.
"""

from collections.abc import Iterator
from typing import Any

from axes.decorators import axes_dispatch
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import AccessToken, Bookmark
from usergroups.admin_tools.find_site import FindSite
from usergroups.admin_tools.lists import admin_url, can_view, message_of, relative_time
from usergroups.models import ApiToken, Team, UserGroup

MAX_ROWS = 5  # in each list of the index page


class OperatorsSite(FindSite):
    """The admin site of the service."""

    site_header = site_title = "bookmarks_service"
    index_title = _("Overview")
    site_url = None
    enable_nav_sidebar = False  # templates/admin/base_site.html links to all lists.

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[Any]:
        apps = super().get_app_list(request, app_label)
        for model in (model for app in apps for model in app["models"]):
            title = getattr(self.get_model_admin(model["model"]), "list_title", "")
            model["name"] = title or model["name"]
        # What operators use most comes first.
        order = {"usergroups": 0, "bookmarks": 1}
        return sorted(apps, key=lambda app: order.get(app["app_label"], len(order)))

    def get_urls(self) -> list[Any]:
        # No model has get_absolute_url(), and Django's redirect to it raises
        # an error for malformed keys.
        return [
            url
            for url in super().get_urls()
            if getattr(url, "name", None) != "view_on_site"
        ]

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST" and not settings.PASSWORD_LOGIN:
            raise Http404
        offered = {
            "password_login": settings.PASSWORD_LOGIN,
            "single_sign_on": bool(settings.OIDC_ISSUER),
        }
        return super().login(request, {**offered, **(extra_context or {})})

    @method_decorator(axes_dispatch)
    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """
        Change the user's password.

        A wrong old password counts as a failed login, so that a stolen session
        cannot be used to guess it.
        """
        if not settings.PASSWORD_LOGIN:
            raise Http404
        response = super().password_change(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if form and form.has_error("old_password", "password_incorrect"):
            credentials = {"username": request.user.get_username()}
            user_login_failed.send(__name__, credentials=credentials, request=request)
        return response

    def autocomplete_view(self, request: HttpRequest) -> Any:
        if "\0" in request.GET.get("term", ""):
            raise BadRequest("The search term must not contain null characters.")
        return super().autocomplete_view(request)

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        kinds = [
            model for model in (ApiToken, AccessToken) if can_view(self, request, model)
        ]
        panels = {
            "steps": first_steps(self, request),
            "tokens": [
                panel for model in kinds for panel in token_panels(self, request, model)
            ],
            "recent_changes": (
                recent_changes(self, request)
                if can_view(self, request, LogEntry)
                else None
            ),
        }
        return super().index(request, {**(extra_context or {}), "panels": panels})


def first_steps(site: Any, request: Any) -> list[dict[str, Any]]:
    """Return the set-up steps that the user may do (text, URL and whether it
    is done), or none if all are done.
    """
    documentation = reverse("docs")
    steps: list[tuple[Any, str, str]] = [  # A step is done if its queryset has a row.
        (Team.objects.all(), "add", gettext("Add a team")),
        (
            ApiToken.objects.all(),
            "add",
            gettext("Issue an API token to the team's application"),
        ),
        (
            ApiToken.objects.exclude(last_used_at=None),
            documentation,
            gettext("Call the API with the token"),
        ),
        (
            UserGroup.objects.all(),
            documentation,
            gettext("Create a user group with POST /api/user"),
        ),
        (
            Bookmark.objects.all(),
            "import",
            gettext("Import bookmarks, or create them with POST /v1/bookmarks"),
        ),
        (
            User.objects.exclude(pk=request.user.pk),
            "add",
            gettext("Create an account for each operator"),
        ),
    ]
    result = []
    for rows, page, text in steps:
        if site.get_model_admin(rows.model).has_add_permission(request):
            url = (
                page
                if page.startswith("/")
                else admin_url(site, rows.model._meta, page)
            )
            result.append({"text": text, "url": url, "done": rows.exists()})
    return [] if all(step["done"] for step in result) else result


def token_panels(
    site: Any, request: HttpRequest, model: Any
) -> Iterator[dict[str, Any]]:
    """Yield the panels of a model's tokens that need attention, because they
    expire soon or are not used.
    """
    rows, names = (
        site.get_model_admin(model).get_queryset(request),
        {"names": model._meta.verbose_name_plural},
    )
    expiring, unused = (
        rows.in_state("expiring").order_by("expires_at"),
        rows.unused().order_by("pk"),
    )
    lists = [
        (
            expiring,
            "expires_at",
            "expiring",
            gettext("%(names)s that expire within 14 days") % names,
        ),
        (
            unused,
            "last_used_at",
            "unused",
            gettext("%(names)s that were not used for 90 days") % names,
        ),
    ]
    for tokens, time_field, state, title in lists:
        shown = [
            (
                admin_url(site, model._meta, "change", token.pk),
                token,
                relative_time(getattr(token, time_field)),
            )
            for token in tokens[: MAX_ROWS + 1]
        ]
        if shown:
            url = (
                f"{admin_url(site, model._meta, 'changelist')}?state={state}"
                if len(shown) > MAX_ROWS
                else ""
            )
            yield {"title": title, "tokens": shown[:MAX_ROWS], "url": url}


def recent_changes(site: Any, request: HttpRequest) -> list[tuple[LogEntry, str, Any]]:
    """Return the latest changes in the admin that the user may see: the entry,
    its message and the time of each.
    """
    entries = site.get_model_admin(LogEntry).get_queryset(request)
    latest = entries.select_related("user", "content_type").order_by("-pk")[:MAX_ROWS]
    return [
        (entry, message_of(entry), relative_time(entry.action_time)) for entry in latest
    ]
