from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import router

from usergroups.management.base import OperatorCommand
from usergroups.transactions import WritingModel


class Command(OperatorCommand):
    help = (
        "Deletes an object, such as a team, user group or collection, with everything that belongs to it, in one "
        "transaction, however much that is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", help="For example usergroups.UserGroup.")
        parser.add_argument("id", help="The id, as in the URL of the object's page of the admin.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            model = apps.get_model(options["model"])
        except (LookupError, ValueError):
            model = None
        if model is None or not issubclass(model, WritingModel):
            raise CommandError(f"There is no model {options['model']!r} whose objects this command deletes.")
        try:
            rows = model._default_manager.using(router.db_for_write(model)).filter(pk=options["id"])
        except (ValueError, ValidationError):
            rows = model._default_manager.none()
        number, by_model = rows.delete()
        if not number:
            raise CommandError(f"There is no {model._meta.verbose_name} with the id {options['id']!r}.")
        counts = ", ".join(f"{count:,} {label}" for label, count in by_model.items() if count)
        self.stderr.write(f"Deleted {counts}.", self.style.SUCCESS)
