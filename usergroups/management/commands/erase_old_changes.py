from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.core.management.base import CommandParser
from django.db import router
from django.db.models import QuerySet
from django.utils import timezone

from usergroups.events import (
    CHUNK,
    Event,
    erase_entries,
    history,
    with_values,
)
from usergroups.management.operator_command import OperatorCommand

REFUSED_LINES_AGE = timedelta(days=30)

MAX_DAYS = 365_000  # about a thousand years, before which there are no dates


def age(value: str) -> timedelta:
    """Convert an argument, a number of days."""
    if not 0 < int(value) <= MAX_DAYS:
        raise ArgumentTypeError("must be a number of days")
    return timedelta(days=int(value))


class Command(OperatorCommand):
    help = (
        "Erases names and values from older entries of the history, and deletes "
        "older events of timelines. Who changed which object when is kept, and who "
        "deleted user groups. The refused lines of imports are always erased after "
        "30 days."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days",
            type=age,
            required=True,
            help="Erase what is older than this number of days.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.erased = 0
        now = timezone.now()
        since = now - options["days"]
        if apps.is_installed("django.contrib.admin"):
            old = with_values(history().filter(action_time__lt=since))
            self.erase(old, erase_entries)
        events = Event.objects.using(router.db_for_write(Event))
        # Only the deletions of user groups and teams have no group.
        old_events = events.filter(at__lt=since).exclude(user_group=None)
        self.erase(old_events, lambda some: some.delete()[0])
        refused = events.filter(at__lt=now - REFUSED_LINES_AGE)
        refused = refused.exclude(refused_lines="")
        self.erase(refused, lambda some: some.update(refused_lines=""))
        self.stderr.write(self.describe_progress(), self.style.SUCCESS)

    def erase(self, rows: QuerySet[Any], erase: Callable[[QuerySet[Any]], int]) -> None:
        """Call ``erase`` with some of the rows at a time, in the order of
        their keys.
        """
        all_rows = rows.model._default_manager.using(rows.db)
        rest = rows.order_by("pk")
        while keys := list(rest.values_list("pk", flat=True)[:CHUNK]):
            self.erased += erase(all_rows.filter(pk__in=keys))
            rest = rest.filter(pk__gt=keys[-1])

    def describe_progress(self) -> str:
        return f"Erased {self.erased:,} old changes and events."
