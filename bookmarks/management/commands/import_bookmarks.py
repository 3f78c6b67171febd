import sys
from contextlib import nullcontext
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import router

from bookmarks.files import FORMATS, positions
from bookmarks.files.decoding import encoding_name
from bookmarks.files.importing import read, rolled_back_if, store
from bookmarks.files.report import Report
from bookmarks.management.commands.export_bookmarks import add_file_options, look_up
from bookmarks.models import Bookmark
from usergroups.management.base import OperatorCommand


class Command(OperatorCommand):
    help = (
        "Imports a file of bookmarks: HTML of any browser or bookmark service; CSV of Raindrop, Pocket or Instapaper; "
        "JSON of Firefox, Chrome, Pinboard, wallabag, Omnivore, linkding, Linkwarden or Karakeep; or a file of "
        "export_bookmarks. It may be compressed with gzip. Existing bookmarks are not changed without --update, so an "
        "interrupted import can be run again."
    )
    summary = ""  # until the import ends or fails

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to read, or - for standard input.")
        add_file_options(
            parser, FORMATS, help_of_collection="Import into this collection, not into those that the file names."
        )
        help_text = "The encoding of a file that does not declare it, such as windows-1252. Default: UTF-8."
        parser.add_argument("--encoding", type=encoding_name, metavar="LABEL", help=help_text)
        parser.add_argument(
            "--update", action="store_true", help="Give existing bookmarks the values that are in the file."
        )
        parser.add_argument("--dry-run", action="store_true", help="Print the result without storing anything.")

    def handle(self, *args: Any, **options: Any) -> None:
        user_group, collection, format_name = look_up(options, FORMATS)
        report, using = Report(), router.db_for_write(Bookmark)
        with nullcontext(sys.stdin.buffer) if options["file"] == "-" else open(options["file"], "rb") as file:
            try:
                with rolled_back_if(options["dry_run"], using):
                    records = read(file, format_name, options["encoding"])
                    store(user_group, records, report, collection, options["update"])
            finally:
                self.summarize(report, options)
                for refusal in report.refusals:
                    self.stderr.write(f"{positions(format_name, refusal)}: {refusal.reason}")
                for remark in report.remarks:
                    self.stderr.write(remark)
        if report.error:
            raise CommandError(f"{report.error} Only what comes before was read: {self.summary}")
        accepted = report.created + report.updated + report.existing
        if not accepted + report.refused:
            self.stderr.write("The file contains no bookmarks.")
        self.stdout.write(self.summary)
        if report.refused and not accepted:
            raise CommandError("All bookmarks were refused.")

    def summarize(self, report: Report, options: dict[str, Any]) -> None:
        dry_run = "Dry run, nothing was changed: " if options["dry_run"] else ""
        updated = f"{report.updated} updated, " if options["update"] else ""
        existing = f"{report.existing} already existed"
        self.summary = f"{dry_run}{report.created} created, {updated}{existing}, {report.refused} refused."

    def describe_progress(self) -> str:  # for the message when the command ends early
        return f"Run the command again to complete it. Result so far: {self.summary}" if self.summary else ""
