"""The list of all changes in the admin."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.views.main import ChangeList
from django.contrib.contenttypes.models import ContentType
from django.contrib.humanize.templatetags.humanize import intcomma
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
from .fields import ModelField, indent_json, valid_values
from .history import (
    RESTORE_PARAM,
    Change,
    changes_of,
    message_of,
    model_of,
    operator_name,
    summary_of,
)
from .lists import OperatorChangeList, ReadOnlyListAdmin
from .pages import ModelAdmin, admin_url, can_view
from .paginator import display_rows

MAX_OPEN = 100
"""The number of characters of a value above which it is collapsed."""


OBJECT_ID = "object_id"
"""The query parameter with the key of an object, whose history a page links to."""


class ObjectFilter(admin.SimpleListFilter):
    """A filter by model and, in the links to a history, by object."""

    title = _("object")
    parameter_name = "content_type"

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], *args: Any
    ) -> None:
        keys = params.pop(OBJECT_ID, None)
        super().__init__(request, params, *args)
        if keys:
            self.used_parameters[OBJECT_ID] = keys[-1]

    def expected_parameters(self) -> list[str | None]:
        return [*super().expected_parameters(), OBJECT_ID]

    def lookups(
        self, request: HttpRequest, model_admin: ModelAdmin[LogEntry]
    ) -> list[tuple[str, str]]:
        types = visible_content_types(model_admin.admin_site, request)
        return [(str(each.pk), capfirst(each.name)) for each in types]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[LogEntry]
    ) -> QuerySet[LogEntry]:
        key = self.value()
        if key:
            queryset = queryset.filter(content_type=int(key))
        if OBJECT_ID in self.used_parameters:
            queryset = queryset.filter(object_id=self.used_parameters[OBJECT_ID])
        return queryset


class ChangesList(OperatorChangeList):
    """A list of changes that knows which of them can be restored."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        entries = list(self.result_list)
        restorable = restorable_entries(self.model_admin.admin_site, request, entries)
        for entry in entries:
            entry.is_restorable = entry in restorable
        self.result_list = entries


class ChangesAdmin(ReadOnlyListAdmin[LogEntry]):
    """A read-only list of changes, also of objects that were deleted.

    It shows those of models that the user may view.

    Register it for ``django.contrib.admin.models.LogEntry``.
    """

    list_title = _("Changes")
    is_linked_by_find = True
    list_display = ("action_time", "operator", "changed_object", "change")
    list_filter = (
        ("user", AutocompleteFilter),
        ObjectFilter,
        "action_flag",
        "action_time",
    )
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "object_id")
    ordering = ("-id",)
    empty_text = _("Changes that operators make in the admin are listed here.")

    def get_changelist(
        self, request: HttpRequest, **kwargs: object
    ) -> type[ChangeList]:
        return ChangesList

    def get_queryset(self, request: HttpRequest) -> QuerySet[LogEntry]:
        entries = super().get_queryset(request)
        types = visible_content_types(self.admin_site, request)
        return entries.filter(content_type__in=types)

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return bool(visible_content_types(self.admin_site, request))

    @admin.display(description=_("User"))
    def operator(self, entry: LogEntry) -> str:
        """Return a link that filters the list by this user."""
        parameter = f"user__{entry.user._meta.pk.name}__exact"
        query = urlencode({parameter: entry.user_id})
        return format_html('<a href="?{}">{}</a>', query, operator_name(entry))

    @admin.display(description=_("object"))
    def changed_object(self, entry: LogEntry) -> str:
        return show_object(self.admin_site, entry)

    @admin.display(description=_("change"))
    def change(self, entry: LogEntry) -> str:
        """Return the message, the old and the new values, and a link that
        restores the old ones if that is possible.
        """
        parts = [show_change(self.admin_site, entry)]
        # A CSV file has no links.
        if getattr(entry, "is_restorable", False):
            parts.append(self.restoring_link(entry))
        return format_html_join("", "{}", [[part] for part in parts])

    def restoring_link(self, entry: LogEntry) -> str:
        """Return a link to the form of the object with the old values."""
        query = urlencode({RESTORE_PARAM: entry.pk})
        address = f"{url_of_object(self.admin_site, entry)}?{query}"
        return format_html('<a href="{}">{}</a>', address, gettext("Restore"))


def url_of_object(site: admin.AdminSite, entry: LogEntry) -> str:
    """Return the address of the object's page."""
    return admin_url(site, model_of(entry)._meta, "change", entry.object_id)


def show_object(site: admin.AdminSite, entry: LogEntry) -> str:
    """Return the kind of the changed object with a link to it, or the number
    of the changed objects.
    """
    opts = model_of(entry)._meta
    summary = summary_of(entry)
    if summary is not None and entry.object_id is None:
        return display_rows(summary["number"], opts)
    # The name may have been erased.
    shown = entry.object_repr or str(entry.object_id)
    if not entry.is_deletion():
        url = url_of_object(site, entry)
        shown = format_html('<a href="{}">{}</a>', url, shown)
    return format_html("{}: {}", capfirst(opts.verbose_name), shown)


def show_change(site: admin.AdminSite, entry: LogEntry) -> str:
    """Return the message, and the old and the new values or the description of
    the changed objects.
    """
    parts = [message_of(entry), " "]
    parts += [show_values(each) for each in changes_of(entry)]
    summary = summary_of(entry)
    if summary is not None:
        parts.append(show_counts(site, summary["counts"]))
        if entry.object_id is None:
            parts.append(show_choice(site, entry, summary))
    return format_html_join("", "{}", [[part] for part in parts])


def show_counts(site: admin.AdminSite, counts: Mapping[str, int]) -> str:
    """Return numbers as text, by an English word or the label of a model. Of
    the models, only those of the site are shown, and zeros are left out.
    """
    models_by_label = {model._meta.label_lower: model for model in site._registry}
    texts = []
    for key, number in counts.items():
        if not number:
            continue
        model = models_by_label.get(key.lower())
        if model is not None:
            texts.append(display_rows(number, model._meta))
        elif "." not in key:
            texts.append(f"{gettext(key)}: {intcomma(number)}")
    return ", ".join(texts)


def show_choice(
    site: admin.AdminSite, entry: LogEntry, summary: Mapping[str, Any]
) -> str:
    """Return the filters and the first keys of the objects of an action."""
    opts = model_of(entry)._meta
    link = ""
    if summary["filters"]:
        address = f"{admin_url(site, opts, 'changelist')}?{summary['filters']}"
        link = format_html(' <a href="{}">{}</a>', address, gettext("Filtered list"))
    keys = ", ".join(summary["keys"])
    if summary["number"] > len(summary["keys"]):
        keys += ", …"
    return format_html(
        '{}<details><summary>{}</summary><pre class="wrap">{}</pre></details>',
        link,
        gettext("Ids"),
        keys,
    )


def visible_models(
    site: admin.AdminSite, request: HttpRequest
) -> list[type[models.Model]]:
    """Return the models that the user may view.

    Read-only lists are left out, because the permission to view them depends
    on these models.
    """
    visible = []
    for model, model_admin in site._registry.items():
        if isinstance(model_admin, ReadOnlyListAdmin):
            continue
        if can_view(site, request, model):
            visible.append(model)
    return visible


def visible_content_types(
    site: admin.AdminSite, request: HttpRequest
) -> list[ContentType]:
    """Return the content types of the models that the user may view."""
    types = ContentType.objects.get_for_models(*visible_models(site, request))
    return list(types.values())


def restorable_entries(
    site: admin.AdminSite, request: HttpRequest, entries: Sequence[LogEntry]
) -> set[LogEntry]:
    """Return the entries that have old values of an object that still exists
    and that the user may change.

    There is one query for each model, by the primary keys.
    """
    by_model: dict[type[models.Model], list[LogEntry]] = defaultdict(list)
    for entry in entries:
        if any(changes_of(entry)):
            by_model[model_of(entry)].append(entry)
    restorable = set()
    for model, candidates in by_model.items():
        model_admin = site.get_model_admin(model)
        if not model_admin.has_change_permission(request):
            continue
        keys = {each.object_id for each in candidates}
        valid = valid_values(model._meta.pk, keys)
        rows = model_admin.get_queryset(request).filter(pk__in=valid)
        existing = {str(key) for key in rows.values_list("pk", flat=True)}
        restorable |= {each for each in candidates if each.object_id in existing}
    return restorable


def value_as_text(field: ModelField, value: object) -> str:
    """Return a value from an entry of the history as text."""
    if isinstance(field, models.JSONField):
        text = indent_json(value)
    elif field.is_relation and isinstance(value, dict):
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
    name = capfirst(change.field.verbose_name)
    return format_html(
        "<details{}><summary>{}</summary>{}</details>", attribute, name, pair
    )
