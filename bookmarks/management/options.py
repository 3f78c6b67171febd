"""Command line options that the commands on files of bookmarks share."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from bookmarks.files import FORMATS, format_of
from bookmarks.models import Collection
from usergroups.models import UserGroup


def add_collection(parser: CommandParser, help_text: str) -> None:
    parser.add_argument("--collection", metavar="ID", help=help_text)


def collection(options: dict[str, Any], user_group: UserGroup) -> Collection | None:
    if options["collection"] is None:
        return None
    try:
        return Collection.objects.filter(user_group=user_group).get_by_public_id(options["collection"])
    except Collection.DoesNotExist:
        raise CommandError(f"The user group has no collection with the id {options['collection']!r}.") from None


def add_format(parser: CommandParser) -> None:
    parser.add_argument("--format", choices=FORMATS, help="Left out: by how the file's name ends.")


def file_format(options: dict[str, Any]) -> Any:
    """Return the module of the file's format."""
    name = options["format"] or format_of(options["file"])
    if name is None:
        raise CommandError(f"Name the file's format with --format: {', '.join(FORMATS)}.")
    return FORMATS[name]
