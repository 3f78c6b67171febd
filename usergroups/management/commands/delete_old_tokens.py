from typing import Any

from django.apps import apps

from usergroups.management.operator_command import OperatorCommand
from usergroups.tokens.models import Token, TokenQuerySet

CHUNK = 1_000  # tokens in a transaction


class Command(OperatorCommand):
    help = "Deletes tokens that expired or were revoked at least a year ago."

    def handle(self, *args: object, **options: object) -> None:
        self.deleted = 0
        for model in apps.get_models():
            if issubclass(model, Token):
                self.delete_old(model.objects.for_write())
        self.stderr.write(f"Deleted {self.deleted:,} old tokens.", self.style.SUCCESS)

    def delete_old(self, tokens: TokenQuerySet[Any]) -> None:
        """Delete the old tokens of a model, in the order of their keys."""
        rest = tokens.old().order_by("pk")
        while keys := list(rest.values_list("pk", flat=True)[:CHUNK]):
            tokens.filter(pk__in=keys).delete()
            self.deleted += len(keys)
            # Continue after these keys. PostgreSQL keeps deleted rows in the
            # index until it vacuums the table, and would read them again.
            rest = rest.filter(pk__gt=keys[-1])

    def describe_progress(self) -> str:
        return f"Deleted {self.deleted:,} old tokens until then."
