"""Entries of the history, with the old and new values of changed fields.

Like Django's, the messages of entries are stored in English and translated for
display.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.db import models
from django.utils.translation import gettext, gettext_noop

# characters of the old and the new value of a field, as JSON
MAX_KEPT = 50_000

# Django stores the English labels of changed fields, and translates them. Mark
# those that are not marked elsewhere.
LABELS = (
    gettext_noop("Collection"),
    gettext_noop("Mapping"),
    gettext_noop("Note"),
    gettext_noop("Properties"),
    gettext_noop("Tags"),
)


class Change(NamedTuple):
    """A changed field with its old and its new value."""

    field: "models.Field[Any, Any]"
    old: Any
    new: Any


def log_rows(
    user: Any,
    flag: int,
    messages: Sequence[tuple[models.Model, str]],
) -> None:
    """Write an entry of the history for each row, with its message, in one
    statement.
    """
    entries = [
        LogEntry(
            user_id=user.pk,
            content_type=get_content_type_for_model(row),
            object_id=row.pk,
            object_repr=str(row)[:200],
            action_flag=flag,
            change_message=message,
        )
        for row, message in messages
    ]
    LogEntry.objects.bulk_create(entries)


def message_of(entry: LogEntry) -> str:
    """Return the message in the active language.

    One in plain text may end with a colon and a value.
    """
    if entry.is_deletion():
        return gettext("Deleted.")
    if not entry.change_message or parts_of(entry) is not None:
        return entry.get_change_message()
    text, colon, value = entry.change_message.partition(": ")
    return f"{gettext(text)}{colon}{value}"


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
    if not all(isinstance(part, dict) for part in parts):
        return None
    return parts


def changes_of(entry: LogEntry) -> Iterator[Change]:
    """Yield the changed fields, except those with values that were too long to
    be kept.
    """
    model = entry.content_type.model_class()  # type: ignore[union-attr]
    fields = {field.name: field for field in model._meta.concrete_fields}  # type: ignore[union-attr]
    for part in parts_of(entry) or ():
        values = part.get("changed", {}).get("values", {})
        for name, pair in values.items():
            if name in fields and pair != [None, None]:
                old, new = pair
                yield Change(fields[name], old, new)


def changed_fields(form: "forms.BaseModelForm[Any]") -> list[str]:
    """Return the names of the changed fields that are columns of the model."""
    columns = {field.name for field in form.instance._meta.concrete_fields}
    return [name for name in form.changed_data if name in columns]


def changed_values(form: "forms.BaseModelForm[Any]") -> dict[str, list[Any]]:
    """Return what the history keeps: ``{name: [old, new]}`` of changed fields,
    with ``[None, None]`` if too long.
    """
    values = {}
    for name in changed_fields(form):
        field = form.fields[name]
        old = _kept_value(field, form.initial.get(name))
        new = _kept_value(field, form.cleaned_data.get(name))
        is_short = len(json.dumps([old, new])) <= MAX_KEPT
        values[name] = [old, new] if is_short else [None, None]
    return values


def kept_row(row: models.Model | None) -> dict[str, str] | None:
    """Return what an entry of the history keeps of a related row."""
    if row is None:
        return None
    return {"key": str(row.pk), "text": str(row)}


def _kept_value(field: forms.Field, value: Any) -> Any:
    if isinstance(field, forms.ModelChoiceField):
        rows: Any = field.queryset
        return kept_row(rows.filter(pk=getattr(value, "pk", value)).first())
    if isinstance(value, dict | str | int | None):
        return value
    return str(value)
