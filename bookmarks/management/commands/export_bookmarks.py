import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandParser
from django.utils.crypto import get_random_string

from bookmarks.exports import load, record_export, write
from bookmarks.files import EXPORT_FORMATS
from bookmarks.management import progress
from bookmarks.management.file_options import (
    add_file_options,
    look_up_format,
    look_up_owners,
)
from usergroups.management.operator_command import OperatorCommand


class Command(OperatorCommand):
    help = (
        "Writes a user group's bookmarks to a file for import_bookmarks or, as HTML, "
        "for any browser."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to write, or - for standard output.")
        add_file_options(
            parser,
            EXPORT_FORMATS,
            help_of_collection="Export only the bookmarks in this collection.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        format_name = look_up_format(options, path, EXPORT_FORMATS)
        user_group, collection = look_up_owners(options)
        rows = user_group.bookmarks if collection is None else collection.bookmarks
        items = progress.of_items(load(user_group, collection), rows.count())
        output = nullcontext(sys.stdout.buffer) if path == "-" else replaced_file(path)
        with output as file:
            file.writelines(write(items, format_name))
        record_export(user_group, format_name, actor="export_bookmarks")

    def describe_progress(self) -> str:
        return "The export is not complete."


@contextmanager
def replaced_file(path: str) -> Iterator[BinaryIO]:
    """Open a file that replaces the one at ``path`` when the block ends.

    After an error, the file at ``path`` is as before. A device or a pipe
    cannot be replaced, so it is written directly.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    # A symbolic link remains, and the file to which it points is replaced.
    target = os.path.realpath(path)
    # Only a file in the same folder can replace it in one step.
    partial = f"{target}.{get_random_string(8)}.partial"
    try:
        Path(partial).touch(exist_ok=False)
    except OSError as error:
        # Name the file that the caller knows.
        error.filename = path
        raise
    try:
        with suppress(FileNotFoundError):
            shutil.copymode(target, partial)
        with open(partial, "wb") as file:
            yield file
        os.replace(partial, target)
    except BaseException:
        os.remove(partial)
        raise
