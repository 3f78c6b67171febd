"""The list of all changes in the admin."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .addresses import admin_url
from .autocomplete import AutocompleteFilter
from .fields import indent_json
from .history import Change, changes_of, message_of
from .lists import OperatorListAdmin
from .permissions import visible_content_types

MAX_OPEN = 100
"""The number of characters of a value above which it is collapsed."""


class ObjectFilter(admin.SimpleListFilter):
    title = _("object")
    parameter_name = "content_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        kinds = visible_content_types(model_admin.admin_site, request)
        return [(kind.pk, capfirst(kind.name)) for kind in kinds]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[LogEntry]
    ) -> QuerySet[LogEntry]:
        key: Any = self.value()
        return queryset.filter(content_type=key) if key else queryset


class ChangesAdmin(OperatorListAdmin[LogEntry]):
    """A read-only list of changes, also of objects that were deleted.

    It shows those of models that the user may view.

    Register it for ``django.contrib.admin.models.LogEntry``.
    """

    list_title = _("Changes")
    list_display = ("action_time", "operator", "changed_object", "change")
    list_display_links = None
    list_filter = (
        ("user", AutocompleteFilter),
        ObjectFilter,
        "action_flag",
        "action_time",
    )
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "object_id")
    sortable_by = ()
    ordering = ("-id",)
    actions = ()
    empty_text = _("Changes that operators make in the admin are listed here.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[LogEntry]:
        kinds = visible_content_types(self.admin_site, request)
        return super().get_queryset(request).filter(content_type__in=kinds)

    def has_view_permission(
        self, request: HttpRequest, obj: LogEntry | None = None
    ) -> bool:
        return bool(visible_content_types(self.admin_site, request))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: LogEntry | None = None
    ) -> bool:
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: LogEntry | None = None
    ) -> bool:
        return False

    @admin.display(description=_("User"))
    def operator(self, entry: LogEntry) -> str:
        return entry.user.get_full_name() or entry.user.get_username()

    @admin.display(description=_("object"))
    def changed_object(self, entry: Any) -> str:
        shown = entry.object_repr
        if not entry.is_deletion():
            shown = format_html('<a href="{}">{}</a>', self.page_of(entry), shown)
        return format_html("{}: {}", capfirst(entry.content_type.name), shown)

    @admin.display(description=_("change"))
    def change(self, entry: LogEntry) -> str:
        """Return the message, the old and the new values, and a link that
        restores the old ones.
        """
        changes = list(changes_of(entry))
        restore = ""
        if changes:
            address = f"{self.page_of(entry)}?restore={entry.pk}"
            restore = format_html('<a href="{}">{}</a>', address, gettext("Restore"))
        values = format_html_join("", "{}", ([show_values(each)] for each in changes))
        return format_html("{} {}{}", message_of(entry), values, restore)

    def page_of(self, entry: Any) -> str:
        """Return the address of the object's page."""
        opts = entry.content_type.model_class()._meta
        return admin_url(self.admin_site, opts, "change", entry.object_id)


def text_of(field: "models.Field[Any, Any]", value: Any) -> str:
    """Return a value from an entry of the history as text."""
    if isinstance(field, models.JSONField):
        text = indent_json(value)
    elif value and field.is_relation:
        text = value["text"]
    else:
        text = str(localize(value) or "")
    return text or "-"


def show_values(change: Change) -> str:
    """Return the old and the new value of a field, collapsed if they are long."""
    before = text_of(change.field, change.old)
    after = text_of(change.field, change.new)
    is_open = max(len(before), len(after)) <= MAX_OPEN
    pair = format_html_join(
        " → ", '<pre class="wrap" dir="auto">{}</pre>', [[before], [after]]
    )
    return format_html(
        "<details{}><summary>{}</summary>{}</details>",
        " open" if is_open else "",
        capfirst(change.field.verbose_name),
        pair,
    )
