import gc
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations
from django.db import IntegrityError, OperationalError, router

from bookmarks.files import read
from bookmarks.files.chunks import UserGroupDeleted
from bookmarks.files.importing import store
from bookmarks.files.report import Report
from bookmarks.management import options as file_options
from bookmarks.models import Bookmark
from usergroups.management import options as shared
from usergroups.management.files import open_source, rollback_if


class Command(BaseCommand):
    help = (
        "Imports a file of bookmarks from a browser, another service or export_bookmarks. Existing bookmarks are not "
        "changed, so an interrupted import can be run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file to read, or - for standard input.")
        shared.add_user_group(parser)
        file_options.add_collection(parser, "Import into this collection, not into those that the file names.")
        file_options.add_format(parser)
        parser.add_argument("--dry-run", action="store_true", help="Print the result without storing anything.")

    @no_translations  # Reasons are in English, like the rest of the output.
    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        collection = file_options.collection(options, user_group)
        name = file_options.file_format(options)
        report = Report()
        problem = ""
        gc.freeze()  # Rows trigger the garbage collector often. Keep it from scanning the modules of Django each time.
        with open_source(options["file"]) as source, rollback_if(options["dry_run"], router.db_for_write(Bookmark)):
            try:
                for chunk in store(user_group, read(source.file, name), collection):
                    source.bar.clear()  # make room for other text
                    for line, reason in chunk.refusals:
                        self.stderr.write(f"line {line}: {reason}")
                    report.add(chunk)
                    source.advance()
            except KeyboardInterrupt:
                problem = "Interrupted. Run the command again to import the rest. Result so far: "
            except UserGroupDeleted:
                problem = "The user group and its bookmarks were deleted during the import. Result until then: "
            except (IntegrityError, OperationalError) as error:
                problem = f"{error}".strip() + " Run the command again to import the rest. Result so far: "
            finally:
                gc.unfreeze()
        for remark in report.remarks:
            self.stderr.write(remark)
        dry_run = "Dry run, nothing was changed: " if options["dry_run"] else ""
        counts = f"{report.created} created, {report.existing} already existed, {report.refused} refused."
        summary = f"{problem}{dry_run}{counts}"
        if problem:
            raise CommandError(summary)
        if not report.created + report.existing + report.refused:
            self.stderr.write("The file contains no bookmarks.")
        self.stdout.write(summary)
