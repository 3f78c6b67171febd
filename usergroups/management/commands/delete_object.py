import sys
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.management.base import CommandError, CommandParser
from django.db import models

from usergroups.db.models import WritingModel
from usergroups.db.querysets import WritingQuerySet
from usergroups.db.retry import retry_on_conflict
from usergroups.events import Kind, events_about, record_events
from usergroups.management.operator_command import OperatorCommand
from usergroups.signals import acting_as


class Command(OperatorCommand):
    help = (
        "Deletes an object, such as a team, user group or collection, and what the "
        "admin would delete with it, in one transaction, however much that is. Shows "
        "it first, and asks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        models = [
            model._meta.label_lower
            for model in apps.get_models()
            if issubclass(model, WritingModel)
        ]
        parser.add_argument(
            "model",
            type=str.lower,
            choices=models,
            help="For example usergroups.UserGroup.",
        )
        parser.add_argument(
            "id", help="The id, as in the URL of the object's page of the admin."
        )
        parser.add_argument(
            "--operator",
            metavar="USERNAME",
            # A host without the admin may have no accounts.
            required=apps.is_installed("django.contrib.admin"),
            help="Your account, which the history names.",
        )
        parser.add_argument("--yes", action="store_true", help="Do not ask.")

    def handle(self, *args: Any, **options: Any) -> None:
        model = apps.get_model(options["model"])
        operator = self.get_operator(options["operator"])
        key = model._meta.pk.to_python(options["id"])  # Raises ValidationError.
        rows = model._default_manager.for_write().filter(pk=key)
        row = rows.first()
        if row is None:
            raise CommandError(
                f"There is no {model._meta.verbose_name} with the id {options['id']!r}."
            )
        self.describe(row, rows)
        if not options["yes"]:
            self.ask()

        def delete() -> dict[str, int]:
            deleted: dict[str, int] = rows.delete()[1]
            if deleted:
                record_events(events_about(Kind.DELETED, [row], counts=deleted))
            return deleted

        with acting_as(operator):
            by_model = retry_on_conflict(delete, rows.db)
        counts = counts_as_text(by_model)
        self.stderr.write(f"Deleted {counts}.", self.style.SUCCESS)

    def get_operator(self, username: str | None) -> AbstractBaseUser | None:
        """Return the account with this name, or None if there is no name."""
        if username is None:
            return None
        users = get_user_model()
        try:
            return users._default_manager.get_by_natural_key(username)
        except users.DoesNotExist:
            raise CommandError(f"There is no account {username!r}.") from None

    def describe(self, row: models.Model, rows: WritingQuerySet[Any]) -> None:
        """Print the name of the row, and how many rows its deletion affects."""
        by_model = {row._meta.label: 1}
        for model, dependants in rows.dependants_by_model([row.pk]).items():
            by_model[model._meta.label] = dependants.count()
        self.stderr.write(f"Deleting the {row._meta.verbose_name} “{row}” affects:")
        self.stderr.write(counts_as_text(by_model))

    def ask(self) -> None:
        """Raise CommandError unless the answer is yes."""
        self.stderr.write("Delete? [y/N] ", ending="")
        self.stderr.flush()
        # Empty if there is no terminal.
        answer = sys.stdin.readline()
        if answer.strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was deleted.")


def counts_as_text(by_model: dict[str, int]) -> str:
    """Return text such as "1,200 bookmarks.Bookmark, 1 usergroups.Team"."""
    numbers = sorted(by_model.items())
    return ", ".join(f"{count:,} {label}" for label, count in numbers if count)
