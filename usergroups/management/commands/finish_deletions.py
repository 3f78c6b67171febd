from typing import Any

from django.core.management.base import BaseCommand
from django.db import router

from usergroups.deletion import finish_deletions
from usergroups.models import Team


class Command(BaseCommand):
    help = (
        "Deletes what is left of large teams, user groups and collections that were deleted while the service was "
        "stopped or ended. The service itself does so after the next such deletion."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        finish_deletions(router.db_for_write(Team))
