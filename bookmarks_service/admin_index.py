"""What the index page of the admin shows."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from bookmarks.models import AccessToken, Bookmark
from usergroups.admin_tools.columns import admin_url, relative_time
from usergroups.admin_tools.history import message_of
from usergroups.models import ApiToken, Team, UserGroup

MAX_ROWS = 5  # in each list


def panels(site: Any, request: HttpRequest, visible: list[Any]) -> dict[str, Any]:
    """Return the panels for the models that the user may view, by name."""
    kinds = [model for model in (ApiToken, AccessToken) if model in visible]
    result: dict[str, Any] = {
        "steps": first_steps(site, request),
        "tokens": [panel for model in kinds for panel in token_panels(site, request, model)],
        "recent_changes": recent_changes(visible) if visible else None,
    }
    return result


def first_steps(site: Any, request: HttpRequest) -> list[dict[str, Any]]:
    """Return what sets the service up: the texts, URLs and whether each is done. It is empty if everything is done."""
    documentation = reverse("docs")
    operator: Any = request.user.pk
    steps: list[tuple[Any, str, str]] = [
        (Team.objects.all(), "add", _("Add a team")),
        (ApiToken.objects.all(), "add", _("Issue an API token to the team's application")),
        (ApiToken.objects.exclude(last_used_at=None), documentation, _("Call the API with the token")),
        (UserGroup.objects.all(), documentation, _("Create a user group with POST /api/user")),
        (Bookmark.objects.all(), "import", _("Import bookmarks, or create them with POST /v1/bookmarks")),
        (User.objects.exclude(pk=operator), "add", _("Create an account for each operator")),
    ]
    result = []
    for rows, page, text in steps:
        if site.get_model_admin(rows.model).has_add_permission(request):
            url = page if page.startswith("/") else admin_url(site, rows.model._meta, page)
            result.append({"text": text, "url": url, "done": rows.exists()})
    return [] if all(step["done"] for step in result) else result


def token_panels(site: Any, request: HttpRequest, model: Any) -> list[dict[str, Any]]:
    """Return the tokens of a model that need attention, with their owners, in up to two lists."""
    rows, names = site.get_model_admin(model).get_queryset(request), {"names": model._meta.verbose_name_plural}
    expiring, unused = rows.in_state("expiring").order_by("expires_at"), rows.unused().order_by("pk")
    lists = [
        (expiring, "expires_at", "expiring", _("%(names)s that expire within 14 days") % names),
        (unused, "last_used_at", "unused", _("%(names)s that were not used for 90 days") % names),
    ]
    result = []
    for tokens, time, state, title in lists:
        shown = [
            (admin_url(site, model._meta, "change", token.pk), token, relative_time(getattr(token, time)))
            for token in tokens[: MAX_ROWS + 1]
        ]
        if shown:
            url = f"{admin_url(site, model._meta, 'changelist')}?state={state}" if len(shown) > MAX_ROWS else ""
            result.append({"title": title, "tokens": shown[:MAX_ROWS], "url": url})
    return result


def recent_changes(visible: list[Any]) -> list[tuple[LogEntry, str, Any]]:
    """Return the latest changes that operators made to these models in the admin, their messages, and when."""
    content_types = ContentType.objects.get_for_models(*visible).values()
    entries = LogEntry.objects.filter(content_type__in=content_types).select_related("user", "content_type")
    latest = entries.order_by("-pk")[:MAX_ROWS]
    return [(entry, message_of(entry), relative_time(entry.action_time)) for entry in latest]
