"""The list of all changes in the admin."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .autocomplete import AutocompleteFilter
from .fields import ModelField, indent_json, is_valid_value
from .history import RESTORE_PARAM, Change, changes_of, message_of, operator_name
from .lists import OperatorChangeList, OperatorListAdmin
from .pages import admin_url, can_view

MAX_OPEN = 100
"""The number of characters of a value above which it is collapsed."""


USER_FILTER = ("user", AutocompleteFilter)


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


class ChangesList(OperatorChangeList):
    """A list of changes that knows which of them can be restored."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        entries = list(self.result_list)
        restorable = restorable_entries(self.model_admin.admin_site, request, entries)
        for entry in entries:
            entry.is_restorable = entry in restorable
        self.result_list = entries


class ChangesAdmin(OperatorListAdmin[LogEntry]):
    """A read-only list of changes, also of objects that were deleted.

    It shows those of models that the user may view.

    Register it for ``django.contrib.admin.models.LogEntry``.
    """

    list_title = _("Changes")
    list_display = ("action_time", "operator", "changed_object", "change")
    list_display_links = None
    list_filter = (
        USER_FILTER,
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

    def get_changelist(
        self, request: HttpRequest, **kwargs: object
    ) -> type[ChangeList]:
        return ChangesList

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Leave out the filter by user for those who may not view accounts,
        because it offers accounts.

        The names in the list are links that filter it.
        """
        if can_view(self.admin_site, request, get_user_model()):
            return self.list_filter
        return [each for each in self.list_filter if each != USER_FILTER]

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
        """Return a link that filters the list by this user."""
        parameter = f"user__{entry.user._meta.pk.name}__exact"
        query = urlencode({parameter: entry.user_id})
        return format_html('<a href="?{}">{}</a>', query, operator_name(entry))

    @admin.display(description=_("object"))
    def changed_object(self, entry: Any) -> str:
        shown = entry.object_repr
        if not entry.is_deletion():
            url = self.url_of_object(entry)
            shown = format_html('<a href="{}">{}</a>', url, shown)
        return format_html("{}: {}", capfirst(entry.content_type.name), shown)

    @admin.display(description=_("change"))
    def change(self, entry: Any) -> str:
        """Return the message, the old and the new values, and a link that
        restores the old ones if that is possible.
        """
        rendered = [[show_values(each)] for each in changes_of(entry)]
        restore = ""
        if entry.is_restorable:
            query = urlencode({RESTORE_PARAM: entry.pk})
            address = f"{self.url_of_object(entry)}?{query}"
            restore = format_html('<a href="{}">{}</a>', address, gettext("Restore"))
        values = format_html_join("", "{}", rendered)
        return format_html("{} {}{}", message_of(entry), values, restore)

    def url_of_object(self, entry: Any) -> str:
        """Return the address of the object's page."""
        opts = entry.content_type.model_class()._meta
        return admin_url(self.admin_site, opts, "change", entry.object_id)


def restorable_entries(
    site: admin.AdminSite, request: HttpRequest, entries: Sequence[LogEntry]
) -> set[LogEntry]:
    """Return the entries that have old values of an object that still exists
    and that the user may change.

    There is one query for each model, by the primary keys.
    """
    by_type: dict[ContentType, list[LogEntry]] = {}
    for entry in entries:
        if any(changes_of(entry)):
            by_type.setdefault(entry.content_type, []).append(entry)  # type: ignore[arg-type]
    restorable = set()
    for content_type, candidates in by_type.items():
        model: Any = content_type.model_class()
        model_admin = site.get_model_admin(model)
        if not model_admin.has_change_permission(request):
            continue
        keys = {each.object_id for each in candidates}
        valid = [key for key in keys if is_valid_value(model._meta.pk, key)]
        rows = model_admin.get_queryset(request).filter(pk__in=valid)
        existing = {str(key) for key in rows.values_list("pk", flat=True)}
        restorable |= {each for each in candidates if each.object_id in existing}
    return restorable


def value_as_text(field: ModelField, value: Any) -> str:
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
