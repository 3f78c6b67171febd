"""What the admin records of the changes that operators make: events, and
entries of Django's own history beside them.
"""

import json
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.admin.utils import unquote
from django.db import models
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode

from usergroups.db.same_values import is_same
from usergroups.events import (
    Event,
    Kind,
    events_about,
    is_owner,
    owner_of,
    record_events,
)
from usergroups.signals import acting_as

from .fields import choice_with_key
from .forms import OperatorForm
from .pages import M, ModelAdmin, admin_url, can_view

# characters of the old and the new value of a field, as JSON
MAX_KEPT = 50_000

FLAGS = {Kind.ADDED: ADDITION, Kind.DELETED: DELETION}
"""Django's flags of actions that are no changes."""


def write_log_entries(
    user: Any, kind: Kind, rows: Sequence[models.Model], message: Any = ""
) -> list[LogEntry]:
    """Write an entry of Django's history for each row, for tools of a host
    project, and return them.

    They have the keys of the rows in place of the names, because only events
    are deleted with the owners of the rows.
    """
    message = message or f"{kind.value.capitalize()}."
    flag = FLAGS.get(kind, CHANGE)
    log: Any = LogEntry.objects
    entries: list[LogEntry] = log.log_actions(user.pk, rows, flag, message)
    written = log.filter(pk__in=[entry.pk for entry in entries])
    written.update(object_repr=F("object_id"))
    return entries


def log_action(
    user: object,
    kind: Kind,
    rows: Sequence[models.Model],
    message: object = "",
    **fields: Any,
) -> list[LogEntry]:
    """Record an action of a user on rows of one model, and return the entries
    of Django's history.

    ``message`` is Django's, and ``fields`` are arguments of
    ``events_about()``.
    """
    if not rows:
        return []
    with acting_as(user):
        record_events(events_about(kind, rows, **fields))
    return write_log_entries(user, kind, rows, message)


def history_url(site: Any, row: models.Model) -> str:
    """Return the address of the list of events, filtered by a row: a user
    group or a team with all that belongs to it, or another row.
    """
    query = {}
    for name, key in owner_of(row).items():
        query[f"{name.removesuffix('_id')}__id__exact"] = str(key)
    if not is_owner(type(row)):
        query["object"] = f"{row._meta.label_lower}:{row.pk}"
    return f"{admin_url(site, Event._meta, 'changelist')}?{urlencode(query)}"


def changed_fields(form: "forms.BaseModelForm[M]") -> list[str]:
    """Return the names of the columns of the model whose values change."""
    columns = {field.name: field for field in form.instance._meta.concrete_fields}
    changed = []
    for name in form.changed_data:
        if name not in columns:
            continue
        value = columns[name].value_from_object(form.instance)
        # The text of the input may differ, although its value is the same.
        if not is_same(columns[name], form.initial.get(name), value):
            changed.append(name)
    return changed


def changes_of(form: Any) -> dict[str, list[object] | None]:
    """Return what an event keeps of the changed fields of a form: the old and
    the new value, or None if they are too long or the form is not of a model
    of the apps, such as that of a password.
    """
    if not isinstance(form, OperatorForm):
        return dict.fromkeys(form.changed_data)
    changes: dict[str, list[object] | None] = {}
    for name in changed_fields(form):
        field = form.fields[name]
        old = _kept_value(field, form.initial.get(name))
        new = _kept_value(field, form.cleaned_data.get(name))
        changes[name] = [old, new]
        if len(json.dumps(changes[name])) > MAX_KEPT:
            changes[name] = None
    return changes


def _kept_value(field: forms.Field, value: object) -> object:
    """Return what an event keeps of a value of a form."""
    if isinstance(field, forms.ModelChoiceField):
        # The initial value is a key, and the new one a row.
        value = choice_with_key(field, getattr(value, "pk", value))
    if isinstance(value, dict | str | int | None):
        return value
    return str(value)


class HistoryAdmin(ModelAdmin[M]):
    """An admin that records changes with their old and new values."""

    def log_addition(self, request: HttpRequest, obj: M, message: object) -> LogEntry:
        [entry] = log_action(request.user, Kind.ADDED, [obj], message)
        return entry

    def log_change(self, request: HttpRequest, obj: M, message: object) -> LogEntry:
        # Set by construct_change_message(), which Django does not call when the
        # page of an account changes its password.
        changes = getattr(request, "changes", None)
        [entry] = log_action(
            request.user, Kind.CHANGED, [obj], message, changes=changes
        )
        return entry

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Return Django's message, and leave the values in the request for
        ``log_change()``.
        """
        if form.changed_data and not add:
            request.changes = changes_of(form)  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, formsets, add)

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, object] | None = None,
    ) -> HttpResponse:
        """Redirect to the list of events, filtered by the row, if the user may
        view both.
        """
        row = self.get_object(request, unquote(object_id))
        if row is None or not can_view(self.admin_site, request, Event):
            return super().history_view(request, object_id, extra_context)
        return redirect(history_url(self.admin_site, row))
