from collections import Counter
from collections.abc import Callable
from datetime import datetime
from operator import methodcaller
from typing import Any

from django.apps import apps
from django.core.management.base import CommandParser
from django.db import router
from django.db.models import QuerySet
from django.utils import timezone

from usergroups.db.deletion_records import DeletionRecord
from usergroups.deleted_user_groups import oldest_recorded_time
from usergroups.events import Event, first_key
from usergroups.management.operator_command import OperatorCommand, days
from usergroups.tokens.models import Token

CHUNK = 1_000  # rows in a statement


OPTIONS = {
    "events": "365",
    "ownerless_events": "1095",
    "refused_lines": "30",
    "tokens": "365",
    "log_entries": "365",
}
"""What is deleted or erased, and by default after how many days."""

delete = methodcaller("delete")
erase_refused_lines = methodcaller("update", refused_lines="")
erase_log_entries = methodcaller("update", object_repr="", change_message="")


class Command(OperatorCommand):
    help = (
        "Deletes what is old: events of user groups and teams, those without an owner, "
        "such as deletions of user groups, refused lines of imports, tokens that "
        "expired or were revoked, and records of deletions that the API no longer "
        "lists. Erases names and values in old entries of Django's history. Run it "
        "every day."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        for name, default in OPTIONS.items():
            option = f"--{name}-days".replace("_", "-")
            parser.add_argument(option, type=days, default=default, metavar="N")
        help_text = "Only count what would be deleted or erased."
        parser.add_argument("--dry-run", action="store_true", help=help_text)

    def handle(self, *args: Any, **options: Any) -> None:
        self.numbers = Counter[str]()
        self.is_dry = options["dry_run"]
        now = timezone.now()
        since = {name: now - options[f"{name}_days"] for name in OPTIONS}
        events = Event.objects.all()
        owned = events.exclude(user_group=None, team=None)
        self.prune("events", older(owned, since["events"]))
        ownerless = events.filter(user_group=None, team=None)
        self.prune("ownerless events", older(ownerless, since["ownerless_events"]))
        refused = older(events, since["refused_lines"]).exclude(refused_lines="")
        self.prune("refused lines", refused, erase_refused_lines)
        for model in apps.get_models():
            if issubclass(model, Token):
                self.prune("tokens", model.objects.old(since["tokens"]))
            if issubclass(model, DeletionRecord):
                records = model._default_manager.all()
                self.prune("deletions", older(records, oldest_recorded_time()))
        if apps.is_installed("django.contrib.admin"):
            entries = apps.get_model("admin", "LogEntry")._default_manager.filter(
                action_time__lt=since["log_entries"]
            )
            named = entries.exclude(object_repr="", change_message="")
            self.prune("log entries", named, erase_log_entries)
        self.stderr.write(self.describe_progress(), self.style.SUCCESS)

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

    def describe_progress(self) -> str:
        numbers = [f"{number:,} {name}" for name, number in self.numbers.items()]
        text = ", ".join(numbers)
        verb = "Would delete or erase" if self.is_dry else "Deleted or erased"
        return f"{verb} {text}."


def older(rows: QuerySet[Any], at: datetime) -> QuerySet[Any]:
    """Filter rows whose keys, of UUID version 7, are older."""
    return rows.filter(pk__lt=first_key(at))
