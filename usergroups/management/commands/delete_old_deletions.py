from typing import Any

from django.apps import apps
from django.db import router

from usergroups.db.deletion_records import DeletionRecord
from usergroups.deletion_log import oldest_recorded_time
from usergroups.management.operator_command import OperatorCommand

CHUNK = 1_000  # records in a transaction


class Command(OperatorCommand):
    help = (
        "Deletes the records of deletions that the API lists no longer, after "
        "USERGROUPS_DELETION_RETENTION_DAYS."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.deleted = 0
        for model in apps.get_models():
            if issubclass(model, DeletionRecord):
                self.delete_old(model)
        self.stderr.write(f"Deleted {self.deleted:,} old records.", self.style.SUCCESS)

    def delete_old(self, model: type[DeletionRecord]) -> None:
        """Delete the old records of a model, in the order of their keys, which
        begin with their times.
        """
        records = model._default_manager.using(router.db_for_write(model))
        rest = records.filter(deleted_at__lt=oldest_recorded_time()).order_by("pk")
        while keys := list(rest.values_list("pk", flat=True)[:CHUNK]):
            self.deleted += records.filter(pk__in=keys).delete()[0]
            # Continue after these keys, as delete_old_tokens does.
            rest = rest.filter(pk__gt=keys[-1])

    def describe_progress(self) -> str:
        return f"Deleted {self.deleted:,} old records until then."
