import sys
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from django.core.management.base import CommandError, CommandParser

from bookmarks.files import EXPORT_FORMATS, guess_format
from bookmarks.files.exporting import load
from bookmarks.models import Collection
from usergroups.management.base import OperatorCommand, add_team, utf8
from usergroups.models import UserGroup


def add_file_options(parser: CommandParser, formats: Iterable[str], help_of_collection: str) -> None:
    """Add the options that imports and exports share."""
    add_team(parser)
    parser.add_argument("--user-group", required=True, type=utf8, metavar="ID", help="Your own id of the user group.")
    parser.add_argument("--collection", metavar="ID", help=help_of_collection)
    parser.add_argument("--format", choices=formats, help="Default: the format of the file name's extension.")


def look_up(options: dict[str, Any], formats: Iterable[str]) -> tuple[UserGroup, Collection | None, str]:
    """Return the user group, the collection if any, and the name of the format. Raises CommandError."""
    format_name: str | None = options["format"] or guess_format(options["file"])
    if format_name is None or format_name not in formats:
        raise CommandError(f"Specify the file's format with --format: {', '.join(formats)}.")
    team, environment, provided_id = options["team"], options["environment"], options["user_group"]
    groups = UserGroup.objects.for_write().filter(team__name=team, environment=environment, provided_id=provided_id)
    if not (user_group := groups.first()):
        owner = f"a team {team!r} in {environment or 'no environment'}"
        raise CommandError(f"There is no user group {provided_id!r} of {owner}.")
    collection = Collection.objects.find(user_group, options["collection"], for_write=True)
    if options["collection"] is not None and collection is None:
        raise CommandError(f"The user group has no collection with the id {options['collection']!r}.")
    return user_group, collection, format_name


class Command(OperatorCommand):
    help = "Writes a user group's bookmarks to a file for import_bookmarks or, as HTML, for any browser."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to write, or - for standard output.")
        add_file_options(parser, EXPORT_FORMATS, help_of_collection="Export only the bookmarks in this collection.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["file"].endswith(".gz"):
            raise CommandError("An export is not compressed. Omit .gz from the name of the file.")
        user_group, collection, format_name = look_up(options, EXPORT_FORMATS)
        text = EXPORT_FORMATS[format_name].write(load(user_group, collection))
        with nullcontext(sys.stdout.buffer) if options["file"] == "-" else open(options["file"], "wb") as file:
            file.writelines(chunk.encode() for chunk in text)

    def describe_progress(self) -> str:  # for the message when the command ends early
        return "The export is not complete."
