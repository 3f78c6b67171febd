import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from bookmarks.management import options as own
from bookmarks.models import Bookmark
from usergroups.management import options as shared


class Command(BaseCommand):
    help = "Writes a user group's bookmarks to a file that import_bookmarks and, as HTML, any browser reads."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="- is standard output.")
        shared.add_user_group(parser)
        own.add_collection(parser, "Only the bookmarks in this one.")
        own.add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        bookmarks = Bookmark.objects.filter(user_group=user_group)
        if collection := own.collection(options, user_group):
            bookmarks = bookmarks.filter(collection=collection)
        text = own.file_format(options).write(bookmarks.for_export())
        if options["file"] == "-":
            for piece in text:
                sys.stdout.buffer.write(piece.encode())
            return
        try:
            with Path(options["file"]).open("w", encoding="utf-8", newline="") as file:
                file.writelines(text)
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}.") from None
