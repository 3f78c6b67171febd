"""The panels of the admin index page."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from bookmarks.models import AccessToken
from usergroups.admin_tools.history import translate_entries
from usergroups.admin_tools.lists import BoundedCount, display_number
from usergroups.models import ApiToken, UserGroup

MAX_ROWS = 5  # in each table


def panels(visible: list[Any]) -> dict[str, Any]:
    """Return the panels for the models that the user may view, by name."""
    owners = {ApiToken: "team", AccessToken: "user_group__team"}
    token_panels = [token_panel(model, owner) for model, owner in owners.items() if model in visible]
    result: dict[str, Any] = {"recent_changes": recent_changes(visible)} if visible else {}
    if UserGroup in visible:
        result["newest_user_groups"] = (
            UserGroup.objects.select_related("team").defer("mapping", "properties").order_by("-pk")[:MAX_ROWS]
        )
    if token_panels:
        result["tokens"] = token_panels
    return result


def token_panel(model: Any, owner: str) -> dict[str, Any]:
    """Return the tokens of a model that need attention, with their owners loaded."""
    tokens = model.objects.select_related(owner)
    return {
        "name": model._meta.verbose_name_plural,
        "opts": model._meta,
        "expiring": with_total(tokens.in_state("expiring").order_by("expires_at")),
        "unused": with_total(tokens.unused().order_by("pk")),
    }


def with_total(rows: Any) -> dict[str, Any]:
    """Return the first rows, and the number of all rows as text if there are more, in one query."""
    first = list(rows.annotate(total=BoundedCount(rows))[:MAX_ROWS])
    total = first[0].total if first else 0
    return {"rows": first, "total": display_number(total) if total > MAX_ROWS else ""}


def recent_changes(visible: list[Any]) -> list[LogEntry]:
    """Return the latest changes that operators made to these models in the admin."""
    content_types = ContentType.objects.get_for_models(*visible).values()
    entries = LogEntry.objects.filter(content_type__in=content_types).select_related("user", "content_type")
    return translate_entries(entries.order_by("-pk")[:MAX_ROWS])
