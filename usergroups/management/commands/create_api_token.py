from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import router, transaction
from django.utils import timezone

from usergroups.management.operator_command import (
    OperatorCommand,
    add_scope_options,
    days,
    utf8,
)
from usergroups.models import ApiToken, Team
from usergroups.tokens.models import MAX_ACTIVE_TOKENS, TooManyTokens


class Command(OperatorCommand):
    help = "Issues an API token and prints its secret, which is not shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        add_scope_options(parser)
        parser.add_argument(
            "--create-team", action="store_true", help="Create the team first."
        )
        parser.add_argument(
            "--name",
            default="",
            type=utf8,
            metavar="TEXT",
            help="What the token is for.",
        )
        parser.add_argument("--read-only", action="store_true")
        parser.add_argument(
            "--expires-in", type=days, metavar="DAYS", help="Default: never."
        )

    def handle(self, *args: object, **options: Any) -> None:
        fields = {name: options[name] for name in ("environment", "name", "read_only")}
        if options["expires_in"] is not None:
            fields["expires_at"] = timezone.now() + options["expires_in"]
        with transaction.atomic(using=router.db_for_write(ApiToken)):
            team = find_or_create_team(options["team"], options["create_team"])
            try:
                token, secret = ApiToken.objects.issue(team=team, **fields)
            except TooManyTokens:
                raise CommandError(
                    f"The team already has {MAX_ACTIVE_TOKENS:,} active API tokens. "
                    "Revoke some of them first."
                ) from None
            self.stdout.write(secret)
            # Flush in the transaction, so that a token whose secret could not
            # be printed is rolled back.
            self.stdout.flush()
        self.stderr.write(
            f"Issued the API token {token} for the team {team}.", self.style.SUCCESS
        )


def find_or_create_team(name: str, create: bool) -> Team:
    """Return a new team with this name if ``create``, else the existing one.

    Raises CommandError or ValidationError.
    """
    if create:
        team = Team(name=name)
        team.full_clean()
        team.save()
        return team
    try:
        return Team.objects.for_write().get(name=name)
    except Team.DoesNotExist:
        raise CommandError(f"There is no team named {name!r}.") from None
