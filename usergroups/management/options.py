"""Command line options that several commands share, and functions that look up the rows that the options name."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from usergroups.models import MAX_ID_LENGTH, MAX_NAME_LENGTH, Environment, Team, UserGroup
from usergroups.tokens.models import MAX_TOKEN_NAME_LENGTH

MAX_DAYS = 36_500


def text(max_length: int, min_length: int = 1) -> Callable[[str], str]:
    """Return an argument type for text of ``min_length`` to ``max_length`` characters."""

    def parse(value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ArgumentTypeError("must be UTF-8") from None
        if not min_length <= len(value) <= max_length:
            raise ArgumentTypeError(f"must be {min_length} to {max_length} characters long")
        return value

    return parse


def days(value: str) -> datetime:
    """Convert an argument, a number of days, to the time in that many days."""
    if not (value.isdecimal() and 0 < int(value) <= MAX_DAYS):
        raise ArgumentTypeError(f"must be a number of days from 1 to {MAX_DAYS}")
    return timezone.now() + timedelta(days=int(value))


team_name = text(MAX_NAME_LENGTH)


def add_team(parser: CommandParser) -> None:
    """Add the options ``--team`` and ``--environment``."""
    parser.add_argument("--team", required=True, type=team_name, metavar="NAME")
    parser.add_argument("--environment", default="", choices=Environment.values, help="Default: none.")


def add_user_group(parser: CommandParser) -> None:
    """Add the options that name a user group."""
    add_team(parser)
    parser.add_argument(
        "--user-group", required=True, metavar="ID", type=text(MAX_ID_LENGTH), help="Your own id of the user group."
    )


def add_token(parser: CommandParser) -> None:
    """Add the options for the fields of a token."""
    name = text(MAX_TOKEN_NAME_LENGTH, min_length=0)
    parser.add_argument("--name", default="", type=name, metavar="TEXT", help="What the token is for.")
    parser.add_argument("--read-only", action="store_true")
    parser.add_argument("--expires-in", dest="expires_at", type=days, metavar="DAYS", help="Default: never.")


def token_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the token to issue."""
    return {name: options[name] for name in ("name", "read_only", "expires_at")}


def team(options: dict[str, Any]) -> Team:
    """Return the team that ``--team`` names. Raises CommandError if it does not exist."""
    try:
        return Team.objects.for_write().get(name=options["team"])
    except Team.DoesNotExist:
        raise CommandError(f"There is no team named {options['team']!r}.") from None


def user_group(options: dict[str, Any]) -> UserGroup:
    """Return the user group that the options name. Raises CommandError if it does not exist."""
    try:
        return (
            UserGroup.objects.for_write()
            .select_related("team")
            .get(team=team(options), environment=options["environment"], provided_id=options["user_group"])
        )
    except UserGroup.DoesNotExist:
        environment = options["environment"] or "no environment"
        raise CommandError(
            f"The team {options['team']!r} has no user group {options['user_group']!r} in {environment}."
        ) from None
