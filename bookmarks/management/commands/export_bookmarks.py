import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from django.core.management.base import CommandError, CommandParser

from bookmarks.files import EXPORT_FORMATS, guess_format
from bookmarks.files.exporting import load
from bookmarks.models import Collection
from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand
from usergroups.models import UserGroup


def add_file_options(parser: CommandParser, formats: Iterable[str], help_of_collection: str) -> None:
    """Add the options that imports and exports share."""
    shared.add_user_group(parser)
    parser.add_argument("--collection", metavar="ID", help=help_of_collection)
    parser.add_argument("--format", choices=formats, help="Default: the format of the file name's extension.")


def find_collection(options: dict[str, Any], user_group: UserGroup) -> Collection | None:
    """Return the user group's collection that --collection names, if any. Raises CommandError if it does not exist."""
    if options["collection"] is None:
        return None
    if collection := Collection.objects.find(user_group, options["collection"]):
        return collection
    raise CommandError(f"The user group has no collection with the id {options['collection']!r}.")


def file_format(options: dict[str, Any], formats: Iterable[str]) -> str:
    """Return the name of the file's format. Raises CommandError if it is none of the formats."""
    name: str | None = options["format"] or guess_format(options["file"])
    if name is None or name not in formats:
        raise CommandError(f"Specify the file's format with --format: {', '.join(formats)}.")
    return name


@contextmanager
def open_target(path: str) -> Iterator[BinaryIO]:
    """Open a file to write, or standard output if the path is ``-``.

    A file appears under its name, or replaces the one that is there, only when the block ends without an exception.
    Raises CommandError if the path is that of a directory, pipe or device, and OSError with the path as filename.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if Path(path).exists() and not Path(path).is_file():
        raise CommandError(f"{path} is not a regular file. Write to standard output with - instead.")
    target = Path(path).resolve()  # so that a symbolic link stays one
    temporary = target.with_name(f".{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            if target.exists():
                shutil.copymode(target, temporary)
            yield file
        temporary.replace(target)
    except OSError as error:
        error.filename = path
        raise
    finally:
        temporary.unlink(missing_ok=True)


class Command(OperatorCommand):
    help = "Writes a user group's bookmarks to a file for import_bookmarks or, as HTML, for any browser."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to write, or - for standard output.")
        add_file_options(parser, EXPORT_FORMATS, help_of_collection="Export only the bookmarks in this collection.")

    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        bookmarks = load(user_group, find_collection(options, user_group))
        text = EXPORT_FORMATS[file_format(options, EXPORT_FORMATS)].write(bookmarks)
        with open_target(options["file"]) as file:
            file.writelines(chunk.encode() for chunk in text)

    def describe_progress(self) -> str:
        return "The export is not complete."
