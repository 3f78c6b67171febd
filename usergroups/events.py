"""What was done with user groups: changes by operators, imports, exports, and
what API calls rotated, revoked or deleted.

Calls that write single rows are not recorded.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.db import models, router
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from uuid_utils.compat import uuid7

from .signals import actor as current_actor

MAX_TEXT = 255  # characters

CHUNK = 1_000  # entries of the admin's history in a statement

SUMMARY = '[{"rows": '
"""The beginning of the messages in the admin's history that describe an action
on rows. They contain no values of the rows.
"""


class Kind(models.TextChoices):
    CHANGED = "changed", _("Changed")
    IMPORTED = "imported", _("Imported")
    EXPORTED = "exported", _("Exported")
    ROTATED = "rotated", _("Rotated")
    REVOKED = "revoked", _("Revoked")
    DELETED = "deleted", _("Deleted")


class Event(models.Model):
    """Something that was done with a user group, or with rows that belong to
    it.

    The events of a group are deleted with the group. The deletion itself is an
    event without a group.
    """

    # The keys have the order of their times.
    id = models.UUIDField("ID", primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField(_("date/time"), default=timezone.now)
    # The querysets delete the events before their group.
    user_group = models.ForeignKey(
        "UserGroup",
        models.DO_NOTHING,
        related_name="+",
        null=True,
        db_index=False,
        verbose_name=_("user group"),
    )
    actor = models.CharField(_("by"), max_length=MAX_TEXT)
    """The username of an operator, the hint of a token, or a command."""
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    model = models.CharField(max_length=100)
    """The label of the model of the rows, such as "bookmarks.bookmark"."""
    counts = models.JSONField(default=dict)
    """Numbers of rows by the label of their model, or by an English word."""
    text = models.CharField(max_length=MAX_TEXT)
    """A file name, hints of tokens or keys."""
    refused_lines = models.TextField()
    """The refused lines of an import as CSV, which are kept for some weeks."""
    entry = models.BigIntegerField(null=True)
    """The key of the entry of the admin's history that describes a change.

    There is no foreign key, because a host project may lack the admin.
    """

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("timeline")
        # Whoever may view a model may view the events about it.
        default_permissions = ()
        indexes = [
            models.Index(fields=["user_group", "id"], name="usergroups_events"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}, {self.at:%Y-%m-%d %H:%M}"


def is_user_group(row: models.Model) -> bool:
    """Return whether the row is a user group."""
    return isinstance(row, Event._meta.get_field("user_group").related_model)


def owners(rows: Iterable[Any]) -> Counter[int]:
    """Return how many of the rows each user group owns, by the group's key.

    A group counts as a row of its own. Rows without a group are not counted.
    """
    numbers = Counter[int]()
    for row in rows:
        key = getattr(row, "user_group_id", None)
        if is_user_group(row):
            key = row.pk
        if key is not None:
            numbers[key] += 1
    return numbers


def name_of(writer: object) -> str:
    """Return what the events call an operator, a token or another actor."""
    if writer is None:
        return ""
    hint = getattr(writer, "hint", None)
    if hint is not None:
        return f"{hint}…"
    return str(writer)[:MAX_TEXT]


def new_events(
    kind: Kind,
    model: type[models.Model],
    numbers: Mapping[int, int],
    **fields: Any,
) -> list[Event]:
    """Return an unsaved event for each user group in ``numbers``, as returned
    by ``owners()``.
    """
    fields.setdefault("actor", name_of(current_actor.get()))
    label = model._meta.label_lower
    events = []
    for key, number in numbers.items():
        values = {"counts": {label: number}, **fields}
        events.append(Event(user_group_id=key, kind=kind, model=label, **values))
    return events


def record(events: Sequence[Event], using: str | None = None) -> None:
    """Insert the events in one statement.

    Call this in the transaction that writes what they tell.
    """
    Event.objects.using(using or router.db_for_write(Event)).bulk_create(events)


def record_call(
    kind: Kind,
    model: type[models.Model],
    numbers: Mapping[int, int],
    using: str,
    text: str = "",
) -> None:
    """Record what an API call did with rows of this model.

    Do nothing for another actor, because the admin records what operators do.
    """
    # Of all actors, only tokens have a hint.
    if hasattr(current_actor.get(), "hint"):
        record(new_events(kind, model, numbers, text=text), using)


def record_deletion(
    model: type[models.Model],
    keys: Sequence[object],
    counts: Mapping[str, int],
    using: str,
) -> None:
    """Record that user groups or teams with these keys were deleted, with the
    numbers of all deleted rows by the label of their model.
    """
    event = Event(
        kind=Kind.DELETED,
        actor=name_of(current_actor.get()),
        model=model._meta.label_lower,
        counts=counts,
        text=", ".join(map(str, keys))[:MAX_TEXT],
    )
    record([event], using)


def erase(events: QuerySet[Event]) -> None:
    """Delete the events, and erase the values in the entries of the admin's
    history about the same rows.
    """
    if apps.is_installed("django.contrib.admin"):
        keys = list(events.exclude(entry=None).values_list("entry", flat=True))
        for start in range(0, len(keys), CHUNK):
            erase_entries(history().filter(pk__in=keys[start : start + CHUNK]))
    events.delete()


def history() -> QuerySet[Any]:
    """Return the entries of the admin's history, on the database for writes."""
    model = apps.get_model("admin", "LogEntry")
    return model._default_manager.using(router.db_for_write(model))


def erase_entries(entries: QuerySet[Any]) -> int:
    """Erase the names of objects and the values in entries of the admin's
    history, and return their number.

    What remains is who changed which object when, and the messages that begin
    with SUMMARY.
    """
    summary = When(change_message__startswith=SUMMARY, then=F("change_message"))
    message = Case(summary, default=Value("", models.TextField()))
    return entries.update(object_repr="", change_message=message)


def with_values(entries: QuerySet[Any]) -> QuerySet[Any]:
    """Filter the entries that ``erase_entries()`` would change."""
    has_message = ~Q(change_message="") & ~Q(change_message__startswith=SUMMARY)
    return entries.filter(~Q(object_repr="") | has_message)
