from typing import Any

from django.core.management.base import CommandParser
from django.db import router, transaction

from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand
from usergroups.models import ApiToken


class Command(OperatorCommand):
    help = "Issues an API token and prints its secret, which is not shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        shared.add_team(parser)
        parser.add_argument("--create-team", action="store_true", help="Create the team first.")
        shared.add_token(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic(using=router.db_for_write(ApiToken)):
            team = shared.create_team(options["team"]) if options["create_team"] else shared.team(options)
            token, secret = ApiToken.objects.issue(
                team=team, environment=options["environment"], **shared.token_fields(options)
            )
            self.write_result(secret)
        self.stderr.write(f"Issued the API token {token} for the team {team}.", self.style.SUCCESS)
