from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, router, transaction

from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand
from usergroups.models import ApiToken, Team


class Command(OperatorCommand):
    help = "Issues an API token and prints its secret, which is not shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        shared.add_team(parser)
        parser.add_argument("--create-team", action="store_true", help="Create the team first.")
        shared.add_token(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic(using=router.db_for_write(ApiToken)):
            team = create_team(options["team"]) if options["create_team"] else shared.team(options)
            token, secret = ApiToken.objects.issue(
                team=team, environment=options["environment"], **shared.token_fields(options)
            )
            self.write_result(secret)
        self.stderr.write(f"Issued the API token {token} for the team {team}.", self.style.SUCCESS)


def create_team(name: str) -> Team:
    """Create a team. Raises CommandError if there is one with this name."""
    try:
        with transaction.atomic(using=router.db_for_write(Team)):
            return Team.objects.create(name=name)
    except IntegrityError:
        raise CommandError(f"There already is a team named {name!r}.") from None
