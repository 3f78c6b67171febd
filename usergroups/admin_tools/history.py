"""The history: what it keeps of changes, and the list of all changes, which is also the history of each object.

Like Django's, its messages are stored in English and translated for display.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from .forms import indent_json
from .lists import AutocompleteFilter, OperatorListAdmin, admin_url, can_view

MAX_KEPT = 50_000
"""The maximum length of the values that an entry keeps, in characters of JSON."""

MAX_OPEN = 100
"""The number of characters of a value above which it is collapsed."""

# Django stores the labels of changed fields, and translates them. makemessages reads those that are nowhere else.
LABELS = (gettext_noop("Collection"), gettext_noop("Mapping"), gettext_noop("Properties"))


def message_of(entry: LogEntry) -> str:
    """Return the message in the active language. In a message of ours, what follows a colon is a value."""
    if entry.is_deletion():
        return gettext("Deleted.")
    if not entry.change_message or entry.change_message.startswith("["):
        return entry.get_change_message()
    text, colon, value = entry.change_message.partition(": ")
    return f"{gettext(text)}{colon}{value}"


def log_rows(user: Any, flag: int, messages: Sequence[tuple[models.Model, str]]) -> None:
    """Write an entry with a message for each row, with one statement."""
    entries = (
        LogEntry(
            user_id=user.pk, content_type=get_content_type_for_model(row), object_id=row.pk, object_repr=str(row)[:200],
            action_flag=flag, change_message=message,
        )
        for row, message in messages
    )  # fmt: skip
    LogEntry.objects.bulk_create(entries)


def changed_values(form: forms.BaseForm) -> dict[str, Any]:
    """Return the old and the new values of the changed fields, as an entry keeps them."""
    values: dict[str, Any] = {}
    for name in form.changed_data:
        pair = [_kept(form.fields[name], value) for value in (form.initial.get(name), form.cleaned_data.get(name))]
        values[name] = pair if len(json.dumps(pair)) <= MAX_KEPT else [None, None]
    return values


def kept_row(row: models.Model | None) -> dict[str, str] | None:
    """Return what an entry keeps of a related row."""
    return {"key": str(row.pk), "text": str(row)} if row else None


def _kept(field: Any, value: Any) -> Any:
    if hasattr(field, "queryset"):
        is_key = value is not None and not isinstance(value, models.Model)
        return kept_row(field.queryset.filter(pk=value).first() if is_key else value)
    return value if isinstance(value, dict | str | int | None) else str(value)


def values_of(entry: LogEntry, model: type[models.Model]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield each changed field with its old and its new value, except values that were too long to be kept."""
    fields = {field.name: field for field in model._meta.concrete_fields}
    parts = json.loads(entry.change_message) if entry.change_message.startswith("[") else []
    for part in parts:
        for name, pair in part.get("changed", {}).get("values", {}).items():
            if name in fields and pair != [None, None]:
                yield fields[name], *pair


def visible_kinds(site: admin.AdminSite, request: HttpRequest) -> list[ContentType]:
    """Return the content types of the models that the user may view."""
    visible = [model for model in site._registry if model is not LogEntry and can_view(site, request, model)]
    return list(ContentType.objects.get_for_models(*visible).values()) if visible else []


class ObjectFilter(admin.SimpleListFilter):
    title = _("object")
    parameter_name = "content_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(kind.pk, capfirst(kind.name)) for kind in visible_kinds(model_admin.admin_site, request)]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(content_type=self.value()) if self.value() else queryset


class ChangesAdmin(OperatorListAdmin):
    """A read-only list of changes, also of objects that were deleted. It shows those of models that the user may view.

    Register it for ``django.contrib.admin.models.LogEntry``.
    """

    list_title = _("Changes")
    list_display = ("action_time", "operator", "changed_object", "change")
    list_display_links = None
    list_filter = (("user", AutocompleteFilter), ObjectFilter, "action_flag", "action_time")
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "object_id")
    sortable_by = ()
    ordering = ("-id",)
    actions = ()
    empty_text = _("Changes that operators make in the admin are listed here.")

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
