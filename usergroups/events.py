"""What was done with user groups and teams: changes by operators, imports,
exports, and what calls rotated, revoked or deleted.

Calls that write single rows are not recorded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db import models, router
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from uuid_utils.compat import uuid7

from .signals import actor as current_actor

M = TypeVar("M", bound=models.Model)

MAX_TEXT = 255  # characters

MAX_NAMED = 20  # rows, of which an event has the names


class Kind(models.TextChoices):
    ADDED = "added", _("Added")
    CHANGED = "changed", _("Changed")
    # Collections, which the admin no longer merges. Events of merges may be stored.
    MERGED = "merged", _("Merged")
    IMPORTED = "imported", _("Imported")
    EXPORTED = "exported", _("Exported")
    ROTATED = "rotated", _("Rotated")
    REVEALED = "revealed", _("Revealed")
    REVOKED = "revoked", _("Revoked")
    DELETED = "deleted", _("Deleted")


class Event(models.Model):
    """Something that was done with rows, which belong to a user group, to a
    team or to neither.

    An action on rows of several owners is an event for each of them, and one
    of the ``whole`` action, which has only numbers. The events of an owner are
    deleted with it. The deletion itself is an event without an owner.
    """

    # The keys have the order of their times.
    id = models.UUIDField("ID", primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField(_("date/time"), default=timezone.now)
    # The querysets delete the events before their owner.
    user_group = models.ForeignKey(
        "UserGroup",
        models.DO_NOTHING,
        related_name="+",
        null=True,
        db_index=False,
        verbose_name=_("user group"),
    )
    team = models.ForeignKey(
        "Team",
        models.DO_NOTHING,
        related_name="+",
        null=True,
        db_index=False,
        verbose_name=_("team"),
    )
    """The team that owns the rows, unless they belong to a user group."""
    whole = models.CharField(max_length=36, default="", db_default="")
    """The key of the event of the whole action, if there is one."""
    actor = models.CharField(_("by"), max_length=MAX_TEXT)
    """The name of an operator with the username, the hint of a token, or a
    command.
    """
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    model = models.CharField(max_length=100)
    """The label of the model of the rows, such as "bookmarks.bookmark"."""
    keys = models.TextField(default="", db_default="")
    """The keys of the rows, as ``keys_text()`` returns them."""
    counts = models.JSONField(default=dict)
    """Numbers of rows by the label of their model, or by an English word."""
    changes = models.JSONField(null=True)
    """The old and the new value of each changed field, ``{name: [old, new]}``,
    or None in their place if they are not kept.
    """
    text = models.CharField(max_length=MAX_TEXT)
    """The names of the first rows, or a file name."""
    refused_lines = models.TextField()
    """The refused lines of an import as CSV, which are kept for some weeks."""

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("history")
        # Whoever may view a model may view the events about it.
        default_permissions = ()
        indexes = [
            models.Index(fields=["user_group", "id"], name="usergroups_events"),
            models.Index(
                fields=["team", "id"],
                name="usergroups_events_of_team",
                condition=models.Q(team__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}, {self.at:%Y-%m-%d %H:%M}"


OWNERS = ("user_group", "team")
"""The fields of an event with its owner."""


def first_key(at: datetime) -> UUID:
    """Return a key that is lower than all keys, of UUID version 7, since this
    time.
    """
    # The first 48 of the 128 bits of such a key are its time.
    milliseconds = int(at.timestamp() * 1_000)
    return UUID(int=milliseconds << 80)


def keys_text(keys: Iterable[object]) -> str:
    """Return keys of rows, each between line feeds."""
    lines = "\n".join(map(str, keys))
    return f"\n{lines}\n"


def owner_models() -> dict[str, Any]:
    """Return the models of user groups and teams by the field of an event."""
    return {name: Event._meta.get_field(name).related_model for name in OWNERS}


def is_owner(model: type[models.Model]) -> bool:
    """Return whether the model is that of user groups or of teams, or derives
    from it.
    """
    return issubclass(model, tuple(owner_models().values()))


def owner_of(row: models.Model) -> dict[str, object]:
    """Return the field of an event, and its value, for the user group or team
    that the row is or belongs to, or an empty dict if there is none.
    """
    for name, model in owner_models().items():
        if isinstance(row, model):
            return {f"{name}_id": row.pk}
        for field in row._meta.concrete_fields:
            if field.related_model is not model:
                continue
            key = field.value_from_object(row)
            if key is not None:
                return {f"{name}_id": key}
    return {}


def actor_name(writer: object) -> str:
    """Return what the events call an operator, a token or another actor."""
    if writer is None:
        return ""
    if hasattr(writer, "hint"):
        return f"{writer.hint}…"
    full_name = getattr(writer, "get_full_name", str)()
    text = f"{full_name} ({writer})" if full_name else str(writer)
    return text[:MAX_TEXT]


def is_call() -> bool:
    """Return whether an API call acts, and not an operator or a command."""
    # Of all actors, only tokens have a hint.
    return hasattr(current_actor.get(), "hint")


def events_about(
    kind: Kind,
    rows: Sequence[M],
    name: Callable[[M], str] = str,
    keys_of: Callable[[M], Sequence[object]] = lambda row: [row.pk],
    *,
    counts: Mapping[str, int] | None = None,
    changes: Mapping[str, object] | None = None,
) -> list[Event]:
    """Return unsaved events of an action on rows of one model.

    Without ``counts``, the rows are counted. An event of one owner has neither
    names, keys nor numbers of others. ``keys_of`` returns the keys of all rows
    that the action on a row is about.
    """
    # The querysets record the deletions of owners.
    if kind == Kind.DELETED and is_owner(type(rows[0])):
        return []
    model = type(rows[0])._meta.label_lower
    by_owner = defaultdict(list)
    for row in rows:
        by_owner[tuple(owner_of(row).items())].append(row)
    events = []
    whole = ""
    if len(by_owner) > 1:
        numbers = counts or {model: len(rows)}
        events.append(Event(kind=kind, model=model, counts=numbers))
        whole = str(events[0].pk)
        counts = None
    for owner, owned in by_owner.items():
        names = [name(row) for row in owned[:MAX_NAMED]]
        keys = [key for row in owned for key in keys_of(row)]
        share = Event(
            kind=kind,
            model=model,
            whole=whole,
            keys=keys_text(keys),
            counts=counts or {model: len(owned)},
            changes=changes,
            text=", ".join(filter(None, names))[:MAX_TEXT],
            **dict(owner),
        )
        events.append(share)
    return events


def record_events(events: Sequence[Event], using: str | None = None) -> None:
    """Insert the events in one statement, as those of the current actor unless
    they have another.

    Call this in the transaction that writes what they tell.
    """
    actor = actor_name(current_actor.get())
    for event in events:
        event.actor = event.actor or actor
        # Django counts deleted rows by labels in mixed case.
        event.counts = {name.lower(): n for name, n in event.counts.items()}
    Event.objects.using(using or router.db_for_write(Event)).bulk_create(events)
