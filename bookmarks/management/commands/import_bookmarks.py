import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import TIMEOUT_MAX
from typing import Any, BinaryIO

from django.core.management.base import CommandError, CommandParser
from django.db import router

from bookmarks.files import (
    FORMATS,
    UnreadableFile,
    encoding_name,
    find_format,
    open_content,
    read,
)
from bookmarks.files.decoding import read_chunks
from bookmarks.import_report import Report
from bookmarks.imports import copied, rolled_back_if, store
from bookmarks.management.file_options import add_file_options, look_up_owners
from bookmarks.models import Bookmark
from usergroups.api.throttling import Deadline
from usergroups.management.operator_command import OperatorCommand


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
        parser.add_argument(
            "--time-limit",
            type=float,
            default=TIMEOUT_MAX,
            metavar="SECONDS",
            help="Stop after this time. Default: no limit.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        user_group, collection = look_up_owners(options)
        report = Report(file_name=os.path.basename(path), importer="import_bookmarks")
        with opened(path) as file:
            try:
                content, name = open_content(file, path)
                format_name = options["format"] or find_format(name, content)
            except UnreadableFile as error:
                raise CommandError(error.problem) from None
            records = read(content, format_name, options["encoding"])
            try:
                with rolled_back_if(options["dry_run"], router.db_for_write(Bookmark)):
                    store(
                        user_group,
                        records,
                        report,
                        collection,
                        options["update"],
                        deadline=Deadline(options["time_limit"]),
                    )
            finally:
                # Also after an error, because what was stored remains.
                self.summary = summarize(report, options)
                self.print_problems(report, format_name)
        if report.has_folders_only:
            self.stderr.write(report.error or "")
        elif report.error and report.is_empty:
            raise CommandError(report.error)
        elif report.error:
            raise CommandError(
                f"{report.error} Only what comes before was read: {self.summary}"
            )
        self.stdout.write(self.summary)
        if report.has_failed:
            raise CommandError("All bookmarks were refused.")

    def print_problems(self, report: Report, format_name: str) -> None:
        """Print the refused records and the remarks to standard error."""
        place = "bookmark" if format_name == "json" else "line"
        for line, url, title, reason in report.refusals:
            self.stderr.write(f"{place} {line}: {reason} {title} {url}".rstrip())
        unlisted = report.refused - len(report.refusals)
        if unlisted:
            self.stderr.write(f"and {unlisted} more")
        for remark in report.remarks:
            self.stderr.write(remark)

    def describe_progress(self) -> str:
        if not self.summary:
            return ""
        return f"Run the command again to complete it. Result so far: {self.summary}"


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open a file, or a temporary copy of a pipe, so that it is seekable."""
    with ExitStack() as closed_at_end:
        file: BinaryIO = sys.stdin.buffer
        if path != "-":
            file = closed_at_end.enter_context(open(path, "rb"))
        if not file.seekable():
            file = closed_at_end.enter_context(copied(read_chunks(file)))
        yield file


def summarize(report: Report, options: dict[str, object]) -> str:
    """Return the numbers of the report as a sentence."""
    counts = [f"{report.created} created"]
    if options["update"]:
        counts.append(f"{report.updated} updated")
    counts.append(f"{report.existing} already existed")
    counts.append(f"{report.refused} refused")
    if report.collections:
        counts.append(f"{report.collections} new collections")
    summary = f"{', '.join(counts)}."
    if options["dry_run"]:
        return f"Dry run, nothing was changed: {summary}"
    return summary
