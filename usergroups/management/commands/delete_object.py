from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser

from usergroups.db.models import WritingModel
from usergroups.management.base import OperatorCommand


class Command(OperatorCommand):
    help = (
        "Deletes an object, such as a team, user group or collection, and what the "
        "admin would delete with it, in one transaction, however much that is."
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

    def handle(self, *args: Any, **options: Any) -> None:
        model = apps.get_model(options["model"])
        key = model._meta.pk.to_python(options["id"])  # Raises ValidationError.
        number, by_model = model._default_manager.filter(pk=key).delete()
        if not number:
            raise CommandError(
                f"There is no {model._meta.verbose_name} with the id {options['id']!r}."
            )
        counts = ", ".join(
            f"{count:,} {label}" for label, count in by_model.items() if count
        )
        self.stderr.write(f"Deleted {counts}.", self.style.SUCCESS)
