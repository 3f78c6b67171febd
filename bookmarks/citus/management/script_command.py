"""The base class of the commands that run a script of SQL."""

from pathlib import Path

import sqlparse
from django.core.management.base import CommandError, CommandParser
from django.db import connections, router, transaction

from bookmarks.models import Bookmark
from usergroups.management.operator_command import OperatorCommand

SCRIPTS = Path(__file__).parents[1]


class ScriptCommand(OperatorCommand):
    """A command that runs a script in one transaction."""

    script: str
    """The file name of the script."""
    done: str
    """The message at the end."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="Print the SQL without running it."
        )

    def handle(self, *args: object, **options: object) -> None:
        script = (SCRIPTS / self.script).read_text()
        if options["dry_run"]:
            self.stdout.write(script, ending="")
            return
        connection = connections[router.db_for_write(Bookmark)]
        if connection.vendor != "postgresql":
            raise CommandError(
                "The database is not PostgreSQL. Set DATABASE_URL to one that is."
            )
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            # one at a time, because PostgreSQL prepares only single statements,
            # and Citus sends the text of a statement to its workers
            for statement in sqlparse.split(script):
                cursor.execute(statement)
        self.stderr.write(self.done)

    def describe_progress(self) -> str:  # for the message when the command ends early
        return "Nothing was changed."
