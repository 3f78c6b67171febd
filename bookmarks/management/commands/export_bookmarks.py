import shutil
from contextlib import closing
from typing import Any

from django.core.management.base import CommandError, CommandParser

from bookmarks.exports import load, record_export, write
from bookmarks.files import EXPORT_FORMATS, guess_format
from bookmarks.imports import copied
from bookmarks.management.file_options import (
    add_file_options,
    look_up_owners,
    opened,
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
        format_name = options["format"] or guess_format(path)
        if format_name not in EXPORT_FORMATS:
            names = ", ".join(EXPORT_FORMATS)
            raise CommandError(f"Specify the file's format with --format: {names}.")
        user_group, collection = look_up_owners(options)
        items = load(user_group, collection)
        # The file is as before if the export fails, because it is only opened
        # when the export is complete.
        with (
            closing(items),
            copied(write(items, format_name)) as content,
            opened(path, "wb") as file,
        ):
            shutil.copyfileobj(content, file)
        record_export(user_group, format_name, actor="export_bookmarks")

    def describe_progress(self) -> str:
        return "The export is not complete."
