import os
from threading import TIMEOUT_MAX
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import router

from bookmarks.files import FORMATS, encoding_name, read
from bookmarks.files.decoding import read_chunks
from bookmarks.import_report import Report
from bookmarks.imports import copied, rolled_back_if, store
from bookmarks.management.file_options import (
    add_file_options,
    look_up_owners,
    opened,
)
from bookmarks.models import Bookmark
from usergroups.api.throttling import Deadline
from usergroups.management.operator_command import OperatorCommand

NO_LIMIT = Deadline(TIMEOUT_MAX)


class Command(OperatorCommand):
    help = (
        "Imports a file of bookmarks: HTML of any browser or bookmark service; CSV of "
        "Raindrop, Pocket or Instapaper; JSON of Firefox, Chrome, Pinboard, wallabag, "
        "Omnivore, linkding, Linkwarden or Karakeep; or a file of export_bookmarks. "
        "It may be in a ZIP. Existing bookmarks are not changed without "
        "--update, so an interrupted import can be run again."
    )
    # For describe_progress(), if the import fails. It is empty before the file
    # has been read.
    summary = ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to read, or - for standard input.")
        add_file_options(
            parser,
            FORMATS,
            help_of_collection=(
                "Import into this collection, not into those that the file names."
            ),
        )
        parser.add_argument(
            "--encoding",
            type=encoding_name,
            metavar="LABEL",
            help=(
                "The encoding of a file that does not declare it, such as "
                "windows-1252. Default: UTF-8."
            ),
        )
        parser.add_argument(
            "--update",
            action="store_true",
            help=(
                "Give existing bookmarks the titles and dates in the file, add its "
                "tags, and fill empty notes."
            ),
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Print the result without storing anything.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        user_group, collection = look_up_owners(options)
        report = Report(file_name=os.path.basename(path), importer="import_bookmarks")
        # A pipe cannot be read twice, but a copy can.
        with opened(path, "rb") as source, copied(read_chunks(source)) as file:
            records = read(file, options["format"], options["encoding"], name=path)
            try:
                with rolled_back_if(options["dry_run"], router.db_for_write(Bookmark)):
                    store(
                        user_group,
                        records,
                        report,
                        collection,
                        options["update"],
                        deadline=NO_LIMIT,
                    )
            finally:
                # Also after an error, because what was stored remains.
                self.summary = summarize(report, options["dry_run"])
                self.print_problems(report)
        self.stdout.write(self.summary)
        if report.has_folders_only:
            self.stderr.write(str(report.error))
        elif report.error:
            raise CommandError(report.error)
        elif report.has_failed:
            raise CommandError("All bookmarks were refused.")

    def print_problems(self, report: Report) -> None:
        """Print the refused records and the remarks to standard error."""
        for line, url, title, reason in report.refusals:
            self.stderr.write(f"line {line}: {reason} {title} {url}".rstrip())
        for remark in report.remarks:
            self.stderr.write(remark)

    def describe_progress(self) -> str:
        if not self.summary:
            return ""
        return f"Run the command again to complete it. Result so far: {self.summary}"


def summarize(report: Report, dry_run: bool) -> str:
    """Return the numbers of the report as a sentence."""
    summary = (
        f"{report.created} created, {report.updated} updated, "
        f"{report.existing} already existed, {report.refused} refused, "
        f"{report.collections} new collections."
    )
    if dry_run:
        return f"Dry run, nothing was changed: {summary}"
    return summary
