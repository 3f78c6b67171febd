from typing import Any

from django.db import router

from usergroups.deletion import finish_deletions
from usergroups.management.base import OperatorCommand
from usergroups.models import Team


class Command(OperatorCommand):
    help = (
        "Finishes the deletion of large teams, user groups and collections that was interrupted. The service also does "
        "this when a process starts, and after the next large deletion."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        finish_deletions(router.db_for_write(Team))
