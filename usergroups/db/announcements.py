"""Send signals about written rows after the commit.

``save()`` of a WritingModel is announced by itself. Methods of querysets
announce what they write with ``bulk_create``, ``update`` or SQL.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, TypeVar

from django.db import models, transaction
from django.dispatch import Signal

from usergroups.signals import actor, created, deleted, updated

M = TypeVar("M", bound=models.Model)

NOTES = "notes"
"""The name of the field that only operators read. No signal has its value."""


def announced_copy(instance: M, *, is_deleted: bool = False) -> M:
    """Return a copy of an instance for receivers, in which the notes are not
    loaded, or empty if the row is deleted and they cannot be loaded later.
    """
    copied = copy(instance)
    values = vars(copied)
    if NOTES not in values:
        return copied
    if is_deleted:
        values[NOTES] = ""
    else:
        del values[NOTES]
    return copied


def announce(
    signal: Signal,
    instances: Sequence[models.Model],
    using: str,
    *,
    raw: bool = False,
    **arguments: object,
) -> None:
    """Send the signal with copies of the instances when the transaction on the
    database ``using`` is committed.

    Send nothing if there are no instances or no receivers, or if the
    transaction is rolled back. Log the errors of receivers.

    ``raw`` is True if a fixture was loaded, as in Django's ``post_save``.
    """
    if not instances or not signal.has_listeners(type(instances[0])):
        return
    is_deleted = signal is deleted
    # The caller may still change the instances. For example, a view adds a
    # token's secret to show it in the response.
    copies = [announced_copy(each, is_deleted=is_deleted) for each in instances]
    writer = actor.get()

    def send() -> None:
        signal.send_robust(
            type(copies[0]),
            instances=copies,
            actor=writer,
            using=using,
            raw=raw,
            **arguments,
        )

    # robust, because logging a receiver's error may itself fail
    transaction.on_commit(send, using=using, robust=True)


def announce_update(
    instances: Sequence[models.Model],
    using: str,
    written: Iterable[str],
    *,
    raw: bool = False,
) -> None:
    """Announce the update of the editable fields among those with the names
    ``written``, if there are any.
    """
    if not instances or not updated.has_listeners(type(instances[0])):
        return
    names = set(written) - {NOTES}
    fields = {
        field.name
        for field in instances[0]._meta.concrete_fields
        if field.editable and names & {field.name, field.attname}
    }
    if fields:
        announce(updated, instances, using, raw=raw, fields=fields)


def announce_save(
    sender: type[models.Model], instance: models.Model, using: str, **kwargs: Any
) -> None:
    """Announce what ``save()`` has done.

    This is a receiver of Django's signal ``post_save``.
    """
    raw: bool = kwargs["raw"]
    if kwargs["created"]:
        announce(created, [instance], using, raw=raw)
        return
    written = kwargs["update_fields"]
    if not written:
        # save() has written all fields.
        fields = sender._meta.concrete_fields
        written = [field.name for field in fields if not field.primary_key]
    announce_update([instance], using, written, raw=raw)
