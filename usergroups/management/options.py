"""Command line options that several commands share, and the objects that they name."""

import json
from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, router, transaction
from django.utils import timezone

from usergroups.models import MAX_ID_LENGTH, MAX_NAME_LENGTH, Environment, Team, UserGroup
from usergroups.tokens.models import MAX_TOKEN_NAME_LENGTH, Token

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


def create_team(name: str) -> Team:
    """Create a team. Raises CommandError if there is one with this name."""
    try:
        with transaction.atomic(using=router.db_for_write(Team)):
            return Team.objects.create(name=name)
    except IntegrityError:
        raise CommandError(f"There already is a team named {name!r}.") from None


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


def token_models() -> list[type[Token]]:
    """Return the models of all kinds of tokens, also those of the host project."""
    return [model for model in apps.get_models() if issubclass(model, Token)]


def add_token_id(parser: CommandParser) -> None:
    """Add the argument that names a token, and the option ``--json``."""
    parser.add_argument("id", help="The id of the token, as list_tokens prints it.")
    add_json(parser)


def add_json(parser: CommandParser) -> None:
    """Add the option ``--json``."""
    parser.add_argument("--json", action="store_true", help="Print JSON, with the fields of the token.")


def token(options: dict[str, Any]) -> Token:
    """Return the token that the argument ``id`` names. Raises CommandError if it does not exist."""
    for model in token_models():
        with suppress(model.DoesNotExist):
            found: Token = model.objects.for_write().get_by_public_id(options["id"])
            return found
    raise CommandError(f"There is no token with the id {options['id']!r}.")


def token_json(token: Token, **more: str) -> str:
    """Return the fields of a token in JSON, without its secret unless it is among ``more``."""
    times = ("created_at", "expires_at", "rotated_at", "revoked_at", "last_used_at")
    described = {
        "id": token.public_id,
        "kind": token._meta.verbose_name,
        "owner": str(token.owner),
        "name": token.name,
        "hint": token.hint,
        "state": token.state,
        "read_only": token.read_only,
        **{name: getattr(token, name) for name in times},
    }
    return json.dumps({**described, **more}, cls=DjangoJSONEncoder)
