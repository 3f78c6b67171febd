"""The list of all changes in the admin."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .autocomplete import AutocompleteFilter
from .fields import indent_json
from .history import Change, changes_of, message_of
from .lists import OperatorListAdmin
from .pages import admin_url, can_view

MAX_OPEN = 100
"""The number of characters of a value above which it is collapsed."""


class ObjectFilter(admin.SimpleListFilter):
    title = _("object")
    parameter_name = "content_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        types = model_admin.visible_content_types(request)
        return [(each.pk, capfirst(each.name)) for each in types]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[LogEntry]
    ) -> QuerySet[LogEntry]:
        key: Any = self.value()
        if not key:
            return queryset
        return queryset.filter(content_type=key)


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

    def visible_content_types(self, request: HttpRequest) -> list[ContentType]:
        """Return the content types of the models that the user may view.

        LogEntry is left out, because the permission to view it depends on
        these models.
        """
        visible = [
            model
            for model in self.admin_site._registry
            if model is not LogEntry and can_view(self.admin_site, request, model)
        ]
        return list(ContentType.objects.get_for_models(*visible).values())

    def get_queryset(self, request: HttpRequest) -> QuerySet[LogEntry]:
        types = self.visible_content_types(request)
        return super().get_queryset(request).filter(content_type__in=types)

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return bool(self.visible_content_types(request))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    @admin.display(description=_("User"))
    def operator(self, entry: LogEntry) -> str:
        return entry.user.get_full_name() or entry.user.get_username()

    @admin.display(description=_("object"))
    def changed_object(self, entry: Any) -> str:
        shown = entry.object_repr
        if not entry.is_deletion():
            url = self.url_of_object(entry)
            shown = format_html('<a href="{}">{}</a>', url, shown)
        return format_html("{}: {}", capfirst(entry.content_type.name), shown)

    @admin.display(description=_("change"))
    def change(self, entry: LogEntry) -> str:
        """Return the message, the old and the new values, and a link that
        restores the old ones.
        """
        rendered = [[show_values(each)] for each in changes_of(entry)]
        restore = ""
        if rendered:
            address = f"{self.url_of_object(entry)}?restore={entry.pk}"
            restore = format_html('<a href="{}">{}</a>', address, gettext("Restore"))
        values = format_html_join("", "{}", rendered)
        return format_html("{} {}{}", message_of(entry), values, restore)

    def url_of_object(self, entry: Any) -> str:
        """Return the address of the object's page."""
        opts = entry.content_type.model_class()._meta
        return admin_url(self.admin_site, opts, "change", entry.object_id)


def value_as_text(field: "models.Field[Any, Any]", value: Any) -> str:
    """Return a value from an entry of the history as text."""
    if isinstance(field, models.JSONField):
        text = indent_json(value)
    elif value and field.is_relation:
        # as kept_row() of the history returns it
        text = value["text"]
    else:
        text = str(localize(value) or "")
    return text or "-"


def show_values(change: Change) -> str:
    """Return the old and the new value of a field, collapsed if they are long."""
    before = value_as_text(change.field, change.old)
    after = value_as_text(change.field, change.new)
    attribute = ""
    if max(len(before), len(after)) <= MAX_OPEN:
        attribute = " open"
    pair = format_html_join(
        " → ", '<pre class="wrap" dir="auto">{}</pre>', [[before], [after]]
    )
    return format_html(
        "<details{}><summary>{}</summary>{}</details>",
        attribute,
        capfirst(change.field.verbose_name),
        pair,
    )
