"""The options that the commands for imports and exports share."""

import sys
from collections.abc import Iterable
from typing import BinaryIO, Literal

from django.core.management.base import CommandError, CommandParser

from bookmarks.models import Collection
from usergroups.management.operator_command import add_scope_options, utf8
from usergroups.models import UserGroup


def add_file_options(
    parser: CommandParser, formats: Iterable[str], help_of_collection: str
) -> None:
    """Add the options. ``formats`` are the names of the possible formats."""
    add_scope_options(parser)
    parser.add_argument(
        "--user-group",
        required=True,
        type=utf8,
        metavar="ID",
        help="Your own id of the user group.",
    )
    parser.add_argument("--collection", metavar="ID", help=help_of_collection)
    parser.add_argument(
        "--format",
        choices=formats,
        help="Default: that of the file name's extension or of the content.",
    )


def look_up_owners(options: dict[str, object]) -> tuple[UserGroup, Collection | None]:
    """Return the user group and, if the options name one, its collection.

    Raises CommandError if one of them does not exist.
    """
    team = options["team"]
    environment = options["environment"]
    provided_id = options["user_group"]
    user_group = (
        UserGroup.objects.for_write()
        .filter(team__name=team, environment=environment, provided_id=provided_id)
        .first()
    )
    if user_group is None:
        owner = f"a team {team!r} in {environment or 'no environment'}"
        problem = f"There is no user group {provided_id!r} of {owner}."
        raise CommandError(problem)
    public_id = options["collection"]
    if public_id is None:
        return user_group, None
    collections = Collection.objects.on_db_for_write()
    collection = collections.find_by_id(user_group, public_id)
    if collection is None:
        problem = f"The user group has no collection with the id {public_id!r}."
        raise CommandError(problem)
    return user_group, collection


def opened(path: str, mode: Literal["rb", "wb"]) -> BinaryIO:
    """Open a file, or standard input or output if the path is ``-``."""
    if path != "-":
        return open(path, mode)
    stream = sys.stdin if mode == "rb" else sys.stdout
    # Closing it leaves the stream open.
    return open(stream.fileno(), mode, closefd=False)
