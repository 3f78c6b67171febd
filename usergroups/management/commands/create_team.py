from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from usergroups.management import options as shared


class Command(BaseCommand):
    help = "Creates a team and prints its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", type=shared.team_name, metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        team = shared.create_team(options["team"])
        self.stderr.write(f"Created the team {team}.", self.style.SUCCESS)
        self.stdout.write(str(team.pk))
