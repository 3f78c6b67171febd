from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.core.management.base import CommandParser
from django.db import models, router
from django.db.models import Q, QuerySet
from django.utils import timezone

from usergroups.admin_tools.fields import valid_values
from usergroups.db.cascades import cascading_relations
from usergroups.db.deletion_records import DeletionRecord
from usergroups.deletion_log import oldest_recorded_time
from usergroups.events import OWNERS, Event, Kind, first_key
from usergroups.management.operator_command import OperatorCommand
from usergroups.models import Team
from usergroups.tokens.models import Token

CHUNK = 1_000  # rows in a statement

MAX_DAYS = 365_000  # about a thousand years, before which there are no dates

OPTIONS = [
    ("--event-days", 365, "events, and erase entries of Django's history"),
    ("--deletion-days", 1_095, "events of deletions of user groups and teams"),
    ("--refused-days", 30, "refused lines of imports"),
    ("--token-days", 365, "tokens that expired or were revoked"),
]
"""Options, their defaults, and what is deleted after so many days."""


def age(value: str) -> timedelta:
    """Convert an argument, a number of days."""
    if not 0 < int(value) <= MAX_DAYS:
        raise ArgumentTypeError("must be a number of days")
    return timedelta(days=int(value))


def delete(rows: QuerySet[Any]) -> None:
    """Delete the rows."""
    rows.delete()


def erase_refused_lines(events: QuerySet[Any]) -> None:
    """Erase the refused lines of imports."""
    events.update(refused_lines="")


class Command(OperatorCommand):
    help = (
        "Deletes what is no longer needed: old events and tokens, and the records of "
        "deletions that the API no longer lists. Also erases the names and values of "
        "deleted rows from Django's history. Run it every day."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        for name, days, what in OPTIONS:
            parser.add_argument(
                name,
                type=age,
                default=timedelta(days=days),
                metavar="DAYS",
                help=f"Delete {what} that long ago. Default: {days}.",
            )
        parser.add_argument(
            "--dry-run", action="store_true", help="Only count what would be deleted."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.numbers = Counter[str]()
        self.is_dry = options["dry_run"]
        now = timezone.now()
        self.prune_events(now - options["event_days"], now - options["deletion_days"])
        refused = Event.objects.filter(pk__lt=first_key(now - options["refused_days"]))
        self.prune(
            "imports' refused lines",
            refused.exclude(refused_lines=""),
            erase_refused_lines,
        )
        for model in apps.get_models():
            if issubclass(model, Token):
                tokens = model.objects.old(now - options["token_days"])
                self.prune("tokens", tokens)
            if issubclass(model, DeletionRecord):
                # The keys begin with the times.
                oldest = first_key(oldest_recorded_time())
                records = model._default_manager.filter(pk__lt=oldest)
                self.prune("records of deletions", records)
        if apps.is_installed("django.contrib.admin"):
            old = entries().filter(action_time__lt=now - options["event_days"])
            self.prune("entries of Django's history", old, erase_entries)
            for model in owned_models():
                self.erase_entries_of_deleted_rows(model)
        self.stderr.write(self.describe_progress(), self.style.SUCCESS)

    def prune_events(self, since: Any, since_for_deletions: Any) -> None:
        owners = [Event._meta.get_field(name).related_model for name in OWNERS]
        labels = [model._meta.label_lower for model in owners]
        deletions = Q(kind=Kind.DELETED, model__in=labels)
        events = Event.objects.all()
        old = events.filter(pk__lt=first_key(since)).exclude(deletions)
        self.prune("events", old)
        old_deletions = events.filter(deletions, pk__lt=first_key(since_for_deletions))
        self.prune("events", old_deletions)

    def prune(
        self,
        name: str,
        rows: QuerySet[Any],
        action: Callable[[QuerySet[Any]], object] = delete,
    ) -> None:
        """Perform the action on some rows at a time, in the order of their
        keys, or only count them.
        """
        using = router.db_for_write(rows.model)
        if self.is_dry:
            self.numbers[name] += rows.using(using).count()
            return
        all_rows = rows.model._default_manager.using(using)
        rest = rows.using(using).order_by("pk")
        while keys := list(rest.values_list("pk", flat=True)[:CHUNK]):
            action(all_rows.filter(pk__in=keys))
            self.numbers[name] += len(keys)
            # Continue after these keys. PostgreSQL keeps deleted rows in the
            # index until it vacuums the table, and would read them again.
            rest = rest.filter(pk__gt=keys[-1])

    def erase_entries_of_deleted_rows(self, model: type[models.Model]) -> None:
        """Erase names and values from the entries of Django's history about
        rows of the model that no longer exist.

        Most are those of a host project's admin, because others have none.
        """
        content_types: Any = apps.get_model("contenttypes", "ContentType")
        content_type = content_types.objects.get_for_model(model)
        rows = model._base_manager.using(router.db_for_write(model))
        rest = entries().filter(content_type=content_type).order_by("pk")
        while chunk := dict(rest.values_list("pk", "object_id")[:CHUNK]):
            valid = valid_values(model._meta.pk, set(chunk.values()))
            existing = {str(row.pk) for row in rows.filter(pk__in=valid).only("pk")}
            gone = [pk for pk, key in chunk.items() if key not in existing]
            self.prune(
                "entries of Django's history",
                entries().filter(pk__in=gone),
                erase_entries,
            )
            rest = rest.filter(pk__gt=max(chunk))

    def describe_progress(self) -> str:
        numbers = ", ".join(f"{n:,} {name}" for name, n in self.numbers.items() if n)
        verb = "Would delete or erase" if self.is_dry else "Deleted or erased"
        return f"{verb}: {numbers or 'nothing'}."


def entries() -> QuerySet[Any]:
    """Return the entries of Django's history that have names or values."""
    model = apps.get_model("admin", "LogEntry")
    return model._default_manager.exclude(object_repr="", change_message="")


def erase_entries(entries: QuerySet[Any]) -> None:
    """Erase names and values. Who changed which object when remains."""
    entries.update(object_repr="", change_message="")


def owned_models() -> list[type[models.Model]]:
    """Return the models whose rows are deleted with a team."""
    dependants = [relation.related_model for relation, _ in cascading_relations(Team)]
    return list(dict.fromkeys([Team, *dependants]))
