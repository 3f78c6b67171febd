import gc
from typing import Any

from django.core.management.base import CommandError, CommandParser, no_translations
from django.db import router

from bookmarks.files import position, read
from bookmarks.files.chunks import UserGroupDeleted
from bookmarks.files.importing import store
from bookmarks.files.report import Report
from bookmarks.management import options as file_options
from bookmarks.models import Bookmark
from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand
from usergroups.management.files import open_source, rollback_if


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
        shared.add_user_group(parser)
        file_options.add_collection(parser, "Import into this collection, not into those that the file names.")
        file_options.add_format(parser)
        file_options.add_encoding(parser)
        parser.add_argument(
            "--update", action="store_true", help="Give existing bookmarks the titles and dates that are in the file."
        )
        parser.add_argument("--dry-run", action="store_true", help="Print the result without storing anything.")

    @no_translations  # Reasons are in English, like the rest of the output.
    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        collection = file_options.collection(options, user_group)
        name = file_options.file_format(options)
        report = Report()
        self.summarize(report, options)
        gc.freeze()  # Rows trigger the garbage collector often. Keep it from scanning the modules of Django each time.
        try:
            with open_source(options["file"]) as source, rollback_if(options["dry_run"], router.db_for_write(Bookmark)):
                records = read(source, name, options["encoding"])
                for chunk in store(user_group, records, collection, options["update"]):
                    source.bar.clear()  # make room for other text
                    for number, reason in chunk.refusals:
                        self.stderr.write(f"{position(name, number)}: {reason}")
                    report.add(chunk)
                    self.summarize(report, options)
        except UserGroupDeleted:
            text = "The user group and its bookmarks were deleted during the import. Result until then: "
            raise CommandError(text + self.summary) from None
        finally:
            gc.unfreeze()
            for remark in report.remarks:
                self.stderr.write(remark)
        if records.error:
            raise CommandError(f"{records.error} Only what comes before was read: {self.summary}")
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
