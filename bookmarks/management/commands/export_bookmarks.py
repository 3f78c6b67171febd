import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from bookmarks.exports import load, record_export, write
from bookmarks.files import EXPORT_FORMATS, guess_format
from bookmarks.management.file_options import add_file_options, look_up_owners
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
        format_name = options["format"] or guess_format(path)
        if format_name not in EXPORT_FORMATS:
            names = ", ".join(EXPORT_FORMATS)
            raise CommandError(f"Specify the file's format with --format: {names}.")
        user_group, collection = look_up_owners(options)
        with closing(load(user_group, collection)) as items:
            content = write(items, format_name)
            if path == "-":
                sys.stdout.buffer.writelines(content)
            elif os.path.exists(path) and not os.path.isfile(path):
                # a device or a pipe
                with open(path, "wb") as pipe:
                    pipe.writelines(content)
            else:
                replace_file(path, content)
        record_export(user_group, format_name, actor="export_bookmarks")

    def describe_progress(self) -> str:
        return "The export is not complete."


def replace_file(path: str, content: Iterable[bytes]) -> None:
    """Write a file, which is as before after an error."""
    # A symbolic link remains, and the file to which it points is replaced.
    target = os.path.realpath(path)
    # Only a file in the same folder can replace it in one step.
    partial = f"{target}.partial"
    try:
        with open(partial, "wb") as file:
            if os.path.exists(target):
                shutil.copymode(target, partial)
            file.writelines(content)
        os.replace(partial, target)
    except OSError as error:
        if error.filename == partial:
            # Name the file that the caller knows.
            error.filename = path
        raise
    finally:
        Path(partial).unlink(missing_ok=True)
