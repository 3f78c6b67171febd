import gc
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, OperationalError, router

from bookmarks.files.importing import UserGroupDeleted, store
from bookmarks.management import options as own
from bookmarks.models import Bookmark
from usergroups.management import options as shared
from usergroups.management.files import open_source, rollback_if


class Command(BaseCommand):
    help = (
        "Stores the bookmarks of a file that a browser, a service or export_bookmarks wrote. What is there already "
        "stays as it is: after an interruption, run it again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="- is standard input.")
        shared.add_user_group(parser)
        own.add_collection(parser, "Of all. Left out: the folder or collection that the file names, made if need be.")
        own.add_format(parser)
        parser.add_argument("--dry-run", action="store_true", help="Tell what would be done, and do nothing.")

    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        collection = own.collection(options, user_group)
        records = own.file_format(options).read
        created = existing = refused = 0
        collection_deleted = False
        problem = ""
        gc.freeze()  # millions of rows come and go: spare the collector from scanning all of Django each time
        with open_source(options["file"]) as source, rollback_if(options["dry_run"], router.db_for_write(Bookmark)):
            try:
                for outcome in store(user_group, records(source.file), collection):
                    source.bar.clear()  # for other text on the line
                    for line, reason in outcome.refusals:
                        self.stderr.write(f"line {line}: {reason}")
                    created += outcome.created
                    existing += outcome.existing
                    refused += len(outcome.refusals)
                    collection_deleted = outcome.collection_deleted
                    source.advance()
            except KeyboardInterrupt:
                problem = "Interrupted; run it again for the rest. So far: "
            except UserGroupDeleted:
                problem = "The user group was deleted during the import, and its bookmarks with it. Until then: "
            except (IntegrityError, OperationalError) as error:
                problem = f"{error}".strip() + " Run it again for the rest. So far: "
            finally:
                gc.unfreeze()
        if collection_deleted:
            self.stderr.write("The collection was deleted during the import. The bookmarks after that are in none.")
        would = "Nothing was done. It would be: " if options["dry_run"] else ""
        summary = f"{problem}{would}{created} created, {existing} there already, {refused} refused."
        if problem:
            raise CommandError(summary)
        if not created + existing + refused:
            self.stderr.write("No bookmark was found in the file.")
        self.stdout.write(summary)
