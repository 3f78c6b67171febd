"""What the history keeps of changes. Like Django's, its messages are stored in English and translated for display."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.db import models
from django.utils.translation import gettext, gettext_noop

MAX_KEPT = 50_000
"""The maximum length of the values that an entry keeps, in characters of JSON."""

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
