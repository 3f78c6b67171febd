from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, connections, router, transaction

from bookmarks.distribution import DISTRIBUTED, Schema
from bookmarks.models import Bookmark
from usergroups.management.base import OperatorCommand

NOT_COPIED = """
    SELECT 'triggers' FROM pg_trigger WHERE tgrelid::regclass::text = ANY(%s) AND NOT tgisinternal
    UNION SELECT 'row-level security' FROM pg_class WHERE oid::regclass::text = ANY(%s) AND relrowsecurity
    UNION SELECT 'storage parameters' FROM pg_class WHERE oid::regclass::text = ANY(%s) AND reloptions IS NOT NULL
"""
"""Selects what partitions do not take over from the tables."""


def positive(text: str) -> int:
    """Convert the text of an option to a positive integer."""
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError("not a positive integer")
    return int(text)


class Command(OperatorCommand):
    help = (
        "Distributes bookmarks and collections by user group, over the nodes of Citus or over hash partitions of "
        "PostgreSQL, in one transaction. Run it once, after migrate."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--partitions",
            type=positive,
            metavar="N",
            help="Copy the tables to this number of partitions. For databases without Citus.",
        )
        parser.add_argument("--dry-run", action="store_true", help="Print the SQL without running it.")

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[router.db_for_write(Bookmark)]
        if connection.vendor != "postgresql":
            raise CommandError("The database is not PostgreSQL. Set DATABASE_URL to one that is.")
        with transaction.atomic(using=connection.alias):
            statements = self.statements(Schema(connection), options["partitions"])
            if options["dry_run"]:
                lines = ["BEGIN", *statements, "COMMIT"] if statements else []
                self.stdout.write("".join(f"{line};\n" for line in lines), ending="")
                return
            try:
                with connection.cursor() as cursor:
                    for statement in statements:
                        cursor.execute(statement)
            except DatabaseError as error:
                reason, _, _ = str(error).partition("HINT")  # which suggests CASCADE
                raise CommandError(f"Nothing was changed. The database refused {statement!r}: {reason}") from error
        self.stderr.write("Distributed the tables." if statements else "The tables are distributed already.")

    def statements(self, schema: Schema, partitions: int | None) -> list[str]:
        """Return the statements to run. Raises CommandError if the database and the options do not fit."""
        if not schema.is_migrated():
            raise CommandError("The database has no tables yet. Run manage.py migrate first.")
        if schema.has_citus():
            if partitions:
                raise CommandError("The database has Citus, which distributes the tables itself. Omit --partitions.")
            return schema.to_citus()
        if not partitions:
            raise CommandError(
                "The database has no Citus. Run CREATE EXTENSION citus and add the nodes, or give the number of "
                "--partitions."
            )
        statements = schema.to_partitions(partitions)
        if statements and (lost := schema.select(NOT_COPIED, *[DISTRIBUTED] * 3)):
            names = ", ".join(name for (name,) in lost)
            raise CommandError(
                f"The tables have {names}. Remove them first, and add them to the new tables afterwards."
            )
        return statements
