from typing import Any

from django.core.management.base import CommandParser
from django.db import router, transaction

from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand
from usergroups.models import Team


class Command(OperatorCommand):
    help = "Creates a team and prints its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", type=shared.team_name, metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic(using=router.db_for_write(Team)):
            team = shared.create_team(options["team"])
            self.write_result(str(team.pk))
        self.stderr.write(f"Created the team {team}.", self.style.SUCCESS)
