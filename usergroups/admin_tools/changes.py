"""The list of all changes that operators made in the admin, which is also the history of each object."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .base import OperatorAdmin
from .columns import admin_url, can_view
from .forms import indent_json
from .history import message_of, values_of
from .lists import AutocompleteFilter

MAX_OPEN = 100
"""The number of characters of a value above which it is collapsed."""


def visible_kinds(site: admin.AdminSite, request: HttpRequest) -> list[ContentType]:
    """Return the content types of the models that the user may view."""
    visible = [model for model in site._registry if model is not LogEntry and can_view(site, request, model)]
    return list(ContentType.objects.get_for_models(*visible).values()) if visible else []


class KindFilter(admin.SimpleListFilter):
    title = _("object")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        kinds = visible_kinds(model_admin.admin_site, request)
        return [(str(kind.pk), capfirst(kind.name)) for kind in kinds]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value()
        return queryset.filter(content_type=value) if value and value.isdecimal() else queryset


class ObjectFilter(admin.SimpleListFilter):
    """Show the changes of one object. The link "History" on its page leads to this list."""

    title = _("id")
    parameter_name = "object_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(self.value(), self.value())] if self.value() else []

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(object_id=self.value())


class ChangesAdmin(OperatorAdmin):
    """A read-only list of changes, also of objects that were deleted. It shows those of models that the user may view.

    Register it for ``django.contrib.admin.models.LogEntry``.
    """

    list_display = ("action_time", "operator", "changed_object", "change")
    list_display_links = None
    list_filter = (("user", AutocompleteFilter), KindFilter, ObjectFilter, "action_flag", "action_time")
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "object_id")
    sortable_by = ()
    ordering = ("-id",)
    actions = ()
    empty_text = _("Changes that operators make in the admin are listed here.")

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": gettext("Changes"), **(extra_context or {})})

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(content_type__in=visible_kinds(self.admin_site, request))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(visible_kinds(self.admin_site, request))

    has_module_permission = has_view_permission

    def is_writable(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = is_writable

    @admin.display(description=_("User"))
    def operator(self, entry: LogEntry) -> str:
        return entry.user.get_full_name() or entry.user.get_username()

    @admin.display(description=_("object"))
    def changed_object(self, entry: LogEntry) -> str:
        content_type: Any = entry.content_type
        kind = capfirst(content_type.name)
        address = None if entry.is_deletion() else entry.get_admin_url()
        shown = format_html('<a href="{}">{}</a>', address, entry.object_repr) if address else entry.object_repr
        return format_html("{}: {}", kind, shown)

    @admin.display(description=_("change"))
    def change(self, entry: LogEntry) -> str:
        """Return the message, the old and the new values, and a link that restores the old ones."""
        model: Any = entry.content_type and entry.content_type.model_class()
        values = list(values_of(entry, model)) if model else []
        restore = ""
        if values:
            address = admin_url(self.admin_site, model._meta, "change", entry.object_id)
            restore = format_html('<a href="{}?restore={}">{}</a>', address, entry.pk, gettext("Restore"))
        shown = format_html_join("", "{}", ((show_values(*each),) for each in values))
        return format_html("{} {}{}", message_of(entry), shown, restore)


def text_of(field: Any, value: Any) -> str:
    """Return a value that an entry keeps as text."""
    if isinstance(field, models.JSONField):
        return indent_json(value) or "-"
    return str(value["text"] if value and field.is_relation else localize(value) or "-")


def show_values(field: Any, old: Any, new: Any) -> str:
    """Return the old and the new value of a field, collapsed if they are long."""
    before, after = text_of(field, old), text_of(field, new)
    is_open = len(before) <= MAX_OPEN and len(after) <= MAX_OPEN
    pair = format_html_join(" → ", '<pre class="wrap" dir="auto">{}</pre>', [[before], [after]])
    label = capfirst(field.verbose_name)
    return format_html("<details{}><summary>{}</summary>{}</details>", " open" if is_open else "", label, pair)
