from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, router, transaction

from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand
from usergroups.models import MAX_NAME_LENGTH, UserGroup


class Command(OperatorCommand):
    help = "Creates a user group."

    def add_arguments(self, parser: CommandParser) -> None:
        shared.add_user_group(parser)
        parser.add_argument("--name", required=True, type=shared.text(MAX_NAME_LENGTH), metavar="TEXT")

    def handle(self, *args: Any, **options: Any) -> None:
        team = shared.team(options)
        try:
            with transaction.atomic(using=router.db_for_write(UserGroup)):
                UserGroup.objects.create(
                    team=team,
                    environment=options["environment"],
                    provided_id=options["user_group"],
                    name=options["name"],
                )
        except IntegrityError:
            raise CommandError(
                f"The team {team} already has a user group {options['user_group']!r} in this environment."
            ) from None
        self.stderr.write(f"Created the user group {options['user_group']} of the team {team}.", self.style.SUCCESS)
