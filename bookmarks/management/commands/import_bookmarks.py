import gc
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError, CommandParser, no_translations
from django.db import router

from bookmarks.files import FORMATS, encodings, positions
from bookmarks.files.importing import read, rolled_back_if, store
from bookmarks.files.report import Report
from bookmarks.management.commands.export_bookmarks import add_file_options, file_format, find_collection
from bookmarks.models import Bookmark
from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand


def encoding(value: str) -> str:
    """Check an argument, the label of an encoding."""
    try:
        return encodings.lookup(value)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


@contextmanager
def open_source(path: str) -> Iterator[Any]:
    """Open a file to read once, or standard input if the path is ``-``. Raises CommandError if it cannot be opened."""
    is_stdin = path == "-"
    if is_stdin and sys.stdin is None:
        raise CommandError("Standard input is closed.")
    try:
        # Without a buffer, which would lose what it holds when a later read fails.
        file = open(sys.stdin.fileno() if is_stdin else path, "rb", buffering=0, closefd=not is_stdin)  # noqa: SIM115
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from None
    with file:
        os.set_blocking(file.fileno(), True)  # Another program may have changed this for standard input.
        yield file


class Command(OperatorCommand):
    help = (
        "Imports a file of bookmarks: HTML of any browser or bookmark service; CSV of Raindrop, Pocket or Instapaper; "
        "JSON of Firefox, Chrome, Pinboard, wallabag, Omnivore, linkding, Linkwarden or Karakeep; or a file of "
        "export_bookmarks. It may be compressed with gzip. Existing bookmarks are not changed without --update, so an "
        "interrupted import can be run again."
    )
    summary = ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to read, or - for standard input.")
        add_file_options(
            parser, FORMATS, help_of_collection="Import into this collection, not into those that the file names."
        )
        help_text = "The encoding of a file that does not declare it, such as windows-1252. Default: UTF-8."
        parser.add_argument("--encoding", type=encoding, metavar="LABEL", help=help_text)
        parser.add_argument(
            "--update", action="store_true", help="Give existing bookmarks the titles and dates that are in the file."
        )
        parser.add_argument("--dry-run", action="store_true", help="Print the result without storing anything.")

    @no_translations  # Reasons are in English, like the rest of the output.
    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        collection = find_collection(options, user_group)
        name = file_format(options, FORMATS)
        report, using = Report(), router.db_for_write(Bookmark)
        gc.freeze()  # The garbage collector would scan all modules again and again, for a tenth of the time.
        try:
            with open_source(options["file"]) as source, rolled_back_if(options["dry_run"], using):
                store(user_group, read(source, name, options["encoding"]), report, collection, options["update"])
        finally:
            gc.unfreeze()
            self.summarize(report, options)
            for refusal in report.refusals:
                self.stderr.write(f"{positions(name, refusal)}: {refusal.reason}")
            for remark in report.remarks:
                self.stderr.write(remark)
        if report.error:
            raise CommandError(f"{report.error} Only what comes before was read: {self.summary}")
        read_rows = report.created + report.updated + report.existing
        if not read_rows + report.refused:
            self.stderr.write("The file contains no bookmarks.")
        self.stdout.write(self.summary)
        if report.refused and not read_rows:
            raise CommandError("All bookmarks were refused.")

    def summarize(self, report: Report, options: dict[str, Any]) -> None:
        dry_run = "Dry run, nothing was changed: " if options["dry_run"] else ""
        updated = f"{report.updated} updated, " if options["update"] else ""
        existing = f"{report.existing} already existed"
        self.summary = f"{dry_run}{report.created} created, {updated}{existing}, {report.refused} refused."

    def describe_progress(self) -> str:
        return f"Run the command again to import the rest. Result so far: {self.summary}" if self.summary else ""
