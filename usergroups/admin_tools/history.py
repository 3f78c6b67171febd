"""Entries of the history with the old and new values of changed fields, and an
admin that writes them and restores old values.

Like Django's, the messages of entries are stored in English and translated for
display.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.contrib.admin.utils import unquote
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop

from usergroups.db.versions import is_same
from usergroups.events import (
    SUMMARY,
    Event,
    Kind,
    is_user_group,
    name_of,
    new_events,
    owners,
    record,
)

from .cells import relative_time
from .fields import ModelField, choice_with_key, is_valid_value
from .forms import OperatorForm
from .pages import M, ModelAdmin, admin_url, can_view

RESTORE_PARAM = "restore"
"""The query parameter of the page of an object with the key of the history
entry whose old values fill the form.
"""

# characters of the old and the new value of a field, as JSON
MAX_KEPT = 50_000

MAX_KEYS = 100  # of the rows of an action

# Django stores the English labels of changed fields, and translates them. Mark
# those that are not marked elsewhere.
LABELS = (
    gettext_noop("Collection"),
    gettext_noop("Mapping"),
    gettext_noop("Note"),
    gettext_noop("Notes"),
    gettext_noop("Properties"),
    gettext_noop("Tags"),
)


class Change(NamedTuple):
    """A changed field with its old and its new value."""

    field: ModelField
    old: object
    new: object


def log_row(
    user: Any, flag: int, row: models.Model, message: str | list[dict[str, Any]]
) -> LogEntry:
    """Write an entry of the history, and the event of the user group that owns
    the row.

    The message is text, or the parts of one.
    """
    [entry] = LogEntry.objects.log_actions(user.pk, [row], flag, message)
    # Nothing may name a user group after its deletion.
    if flag == DELETION and is_user_group(row):
        entry.object_repr = ""
        entry.save(update_fields=["object_repr"])
    record(events_of(user, entry, [row]))
    return entry


def log_action(
    user: Any,
    flag: int,
    rows: Sequence[models.Model],
    message: str = "",
    *,
    filters: str = "",
    counts: Mapping[str, int] | None = None,
) -> None:
    """Write one entry of the history for an action on rows of one model.

    The entry of several rows has their number, the first of their keys and the
    ``filters`` of the list in which they were chosen, a query string. That of
    a deletion has the numbers of all deleted rows, ``counts``, by the label of
    their model.
    """
    if not rows:
        return
    if len(rows) == 1 and counts is None:
        log_row(user, flag, rows[0], message)
        return
    keys = [str(row.pk) for row in rows[:MAX_KEYS]]
    summary = {
        "text": message,
        "number": len(rows),
        "counts": counts or {},
        "keys": keys,
        "filters": filters,
    }
    parts = [{"rows": summary}]
    if len(rows) == 1:
        log_row(user, flag, rows[0], parts)
        return
    entry = LogEntry.objects.create(
        user_id=user.pk,
        content_type=get_content_type_for_model(rows[0]),
        action_flag=flag,
        change_message=json.dumps(parts),
    )
    record(events_of(user, entry, rows))


def events_of(user: Any, entry: LogEntry, rows: Sequence[models.Model]) -> list[Event]:
    """Return the events of an entry about these rows."""
    # The events of a deleted group are deleted with it.
    if entry.is_deletion() and is_user_group(rows[0]):
        return []
    return new_events(
        Kind.CHANGED, type(rows[0]), owners(rows), actor=name_of(user), entry=entry.pk
    )


def model_of(entry: LogEntry) -> type[models.Model]:
    """Return the model of the changed object."""
    return entry.content_type.model_class()  # type: ignore[union-attr, return-value]


def operator_name(entry: LogEntry) -> str:
    """Return the name of the user who made the change."""
    return entry.user.get_full_name() or entry.user.get_username()


def entries_of(row: models.Model) -> QuerySet[LogEntry]:
    """Return the entries of the history of a row."""
    return LogEntry.objects.filter(
        content_type=get_content_type_for_model(row), object_id=str(row.pk)
    )


def message_of(entry: LogEntry) -> str:
    """Return the message in the active language.

    One in plain text may end with a colon and a value.
    """
    if entry.is_deletion():
        return gettext("Deleted.")
    if not entry.change_message and not entry.object_repr:
        return gettext("The values were erased.")
    message = entry.change_message
    summary = summary_of(entry)
    if summary is not None:
        message = summary["text"]
    elif not message or parts_of(entry) is not None:
        return entry.get_change_message()
    text, colon, value = message.partition(": ")
    return f"{gettext(text)}{colon}{value}"


def summary_of(entry: LogEntry) -> dict[str, Any] | None:
    """Return what ``log_action()`` has written about the rows of an action, or
    None for an entry with another message.
    """
    if not entry.change_message.startswith(SUMMARY):
        return None
    [part] = json.loads(entry.change_message)
    summary: dict[str, Any] = part["rows"]
    return summary


def parts_of(entry: LogEntry) -> list[dict[str, Any]] | None:
    """Return the parts of a message that describes changes in JSON, or None if
    the message is plain text.
    """
    try:
        parts = json.loads(entry.change_message)
    except ValueError:
        return None
    if not isinstance(parts, list):
        return None
    for part in parts:
        if not isinstance(part, dict):
            return None
    return parts


def changes_of(entry: LogEntry) -> Iterator[Change]:
    """Yield the changed fields, except those with values that were too long to
    be kept.
    """
    columns = columns_of(model_of(entry))
    for part in parts_of(entry) or ():
        changed = part.get("changed", {})
        values = changed.get("values", {})
        for name, pair in values.items():
            if name in columns and pair != [None, None]:
                old, new = pair
                yield Change(columns[name], old, new)


def columns_of(model: type[models.Model]) -> dict[str, ModelField]:
    """Return the fields of a model that are columns, by name."""
    return {field.name: field for field in model._meta.concrete_fields}


def changed_fields(form: "forms.BaseModelForm[M]") -> list[str]:
    """Return the names of the columns of the model whose values change."""
    columns = columns_of(type(form.instance))
    changed = []
    for name in form.changed_data:
        if name not in columns:
            continue
        value = columns[name].value_from_object(form.instance)
        # The text of the input may differ, although its value is the same.
        if not is_same(columns[name], form.initial.get(name), value):
            changed.append(name)
    return changed


def changed_values(form: "forms.BaseModelForm[M]") -> dict[str, list[object]]:
    """Return what the history keeps: ``{name: [old, new]}`` of changed fields,
    with ``[None, None]`` if too long.
    """
    values = {}
    for name in changed_fields(form):
        field = form.fields[name]
        old = _kept_value(field, form.initial.get(name))
        new = _kept_value(field, form.cleaned_data.get(name))
        pair = [old, new]
        if len(json.dumps(pair)) > MAX_KEPT:
            pair = [None, None]
        values[name] = pair
    return values


def kept_row(row: models.Model | None) -> dict[str, str] | None:
    """Return what an entry of the history keeps of a related row."""
    if row is None:
        return None
    return {"key": str(row.pk), "text": str(row)}


def _kept_value(field: forms.Field, value: object) -> object:
    """Return what an entry of the history keeps of a value of a form."""
    if isinstance(field, forms.ModelChoiceField):
        # The initial value is a key, and the new one a row.
        key = getattr(value, "pk", value)
        return kept_row(choice_with_key(field, key))
    if isinstance(value, dict | str | int | None):
        return value
    return str(value)


class HistoryAdmin(ModelAdmin[M]):
    """An admin that keeps the old and the new values of changed fields in the
    history, and restores old ones.

    Its forms are OperatorForms.
    """

    def log_addition(self, request: HttpRequest, *args: Any) -> LogEntry:
        # the row and the message
        return log_row(request.user, ADDITION, *args)

    def log_change(self, request: HttpRequest, *args: Any) -> LogEntry:
        return log_row(request.user, CHANGE, *args)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Return Django's message with the old and the new values as well."""
        message: Any = super().construct_change_message(request, form, formsets, add)
        if add:
            return message
        values = changed_values(form)
        if values:
            message[0]["changed"]["values"] = values
        return message

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, object] | None = None,
    ) -> HttpResponse:
        """Redirect to the list of all changes, filtered by the row, if the
        user may view that list.
        """
        if not can_view(self.admin_site, request, LogEntry):
            return super().history_view(request, object_id, extra_context)
        content_type = get_content_type_for_model(self.model)
        key = unquote(object_id)
        query = urlencode({"content_type": str(content_type.pk), "object_id": key})
        changes = admin_url(self.admin_site, LogEntry._meta, "changelist")
        return redirect(f"{changes}?{query}")

    def restore(self, request: HttpRequest, obj: M, form: OperatorForm) -> list[str]:
        """Fill the form with the old values of the history entry that the
        query parameter RESTORE_PARAM names, if any.

        Return the labels of the fields that are filled in.
        """
        key = request.GET.get(RESTORE_PARAM)
        if not key or not is_valid_value(LogEntry._meta.pk, key):
            return []
        entry = entries_of(obj).filter(pk=key).first()
        if entry is None:
            return []
        labels = []
        for change in changes_of(entry):
            # A form that may only be viewed has no fields.
            if change.field.name in form.fields:
                restore_value(form, change)
                labels.append(str(capfirst(change.field.verbose_name)))
        return labels


def restore_value(form: OperatorForm, change: Change) -> None:
    """Show the old value of a field in the form."""
    name = change.field.name
    # Keep the current value in the hidden input, so that the old one counts as
    # a change when it is saved.
    current = form.fields[name].prepare_value(form.initial[name])
    form.open_with(name, current)
    old = change.old
    if change.field.is_relation and isinstance(old, dict):
        # as kept_row() returns it
        old = old["key"]
    form.initial[name] = old


class ShownEvent(NamedTuple):
    """An event as pages show it: the time and the description are HTML."""

    time: str | None
    actor: str
    description: str


def recent_events(
    site: Any, request: HttpRequest, number: int, row: models.Model | None = None
) -> list[ShownEvent]:
    """Return the last events that the user may see, newest first, or those of
    a row.
    """
    if not can_view(site, request, LogEntry):
        return []
    entries = site.get_model_admin(LogEntry).get_queryset(request)
    if row is not None:
        entries = entries.filter(
            content_type=get_content_type_for_model(row), object_id=str(row.pk)
        )
    shown = []
    for entry in entries.order_by("-pk")[:number]:
        name = entry.object_repr or str(entry.object_id or "")
        if entry.object_id and not entry.is_deletion():
            opts = model_of(entry)._meta
            address = admin_url(site, opts, "change", entry.object_id)
            name = format_html('<a href="{}">{}</a>', address, name)
        description = format_html("{} {}", name, message_of(entry))
        time = relative_time(entry.action_time)
        shown.append(ShownEvent(time, operator_name(entry), description))
    return shown


def history_url(site: Any, row: models.Model) -> str:
    """Return the address of the list of changes, filtered by this row."""
    query = {
        "content_type": str(get_content_type_for_model(row).pk),
        "object_id": str(row.pk),
    }
    address = admin_url(site, LogEntry._meta, "changelist")
    return f"{address}?{urlencode(query)}"
