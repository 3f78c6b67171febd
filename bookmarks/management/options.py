"""Options of the commands that import or export a file of bookmarks."""

from argparse import ArgumentTypeError
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError, CommandParser

from bookmarks.files import FORMATS, encodings, guess_format
from bookmarks.models import Collection
from usergroups.models import UserGroup


def add_collection(parser: CommandParser, help_text: str) -> None:
    """Add the option --collection."""
    parser.add_argument("--collection", metavar="ID", help=help_text)


def collection(options: dict[str, Any], user_group: UserGroup) -> Collection | None:
    """Return the user group's collection that --collection names, if any. Raises CommandError if it does not exist."""
    if options["collection"] is None:
        return None
    try:
        return Collection.objects.for_write().filter(user_group=user_group).get_by_public_id(options["collection"])
    except Collection.DoesNotExist:
        raise CommandError(f"The user group has no collection with the id {options['collection']!r}.") from None


def add_format(parser: CommandParser, formats: Iterable[str] = FORMATS) -> None:
    """Add the option --format."""
    parser.add_argument("--format", choices=formats, help="Default: the format of the file name's extension.")


def encoding(value: str) -> str:
    """Check an argument, the label of an encoding."""
    try:
        encodings.lookup(value)
    except (ValueError, LookupError) as error:
        raise ArgumentTypeError(str(error)) from None
    return value


def add_encoding(parser: CommandParser) -> None:
    """Add the option --encoding."""
    help_text = "The encoding of a file that does not declare it, such as windows-1252. Default: UTF-8."
    parser.add_argument("--encoding", type=encoding, metavar="LABEL", help=help_text)


def file_format(options: dict[str, Any], formats: Iterable[str] = FORMATS) -> str:
    """Return the name of the file's format. Raises CommandError if it is none of the formats."""
    name: str | None = options["format"] or guess_format(options["file"])
    if name is None or name not in formats:
        raise CommandError(f"Specify the file's format with --format: {', '.join(formats)}.")
    return name
