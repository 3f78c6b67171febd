import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from bookmarks.management import options as file_options
from bookmarks.models import Bookmark
from usergroups.management import options as shared


class Command(BaseCommand):
    help = "Writes a user group's bookmarks to a file for import_bookmarks or, as HTML, for any browser."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to write, or - for standard output.")
        shared.add_user_group(parser)
        file_options.add_collection(parser, "Export only the bookmarks in this collection.")
        file_options.add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        bookmarks = Bookmark.objects.filter(user_group=user_group)
        if collection := file_options.collection(options, user_group):
            bookmarks = bookmarks.filter(collection=collection)
        text = file_options.file_format(options).write(bookmarks.for_export())
        if options["file"] == "-":
            for piece in text:
                sys.stdout.buffer.write(piece.encode())
            return
        try:
            with Path(options["file"]).open("w", encoding="utf-8", newline="") as file:
                file.writelines(text)
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}.") from None
