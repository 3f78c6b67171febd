from typing import Any

from django.core.management.base import CommandParser

from bookmarks.files import EXPORT_FORMATS
from bookmarks.files.exporting import load
from bookmarks.management import options as file_options
from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand
from usergroups.management.files import open_target


class Command(OperatorCommand):
    help = "Writes a user group's bookmarks to a file for import_bookmarks or, as HTML, for any browser."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to write, or - for standard output.")
        shared.add_user_group(parser)
        file_options.add_collection(parser, "Export only the bookmarks in this collection.")
        file_options.add_format(parser, EXPORT_FORMATS)

    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        bookmarks = load(user_group, file_options.collection(options, user_group))
        text = EXPORT_FORMATS[file_options.file_format(options, EXPORT_FORMATS)].write(bookmarks)
        with open_target(options["file"]) as file:
            file.writelines(piece.encode() for piece in text)

    def describe_progress(self) -> str:
        return "The export is not complete."
