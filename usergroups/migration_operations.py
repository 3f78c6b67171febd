"""The operation with which migrations add an index to a table that is in use."""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState

INDEX_IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"


class AddIndexConcurrently(migrations.AddIndex):
    """Add an index without blocking writes on PostgreSQL, and in the usual way on SQLite.

    The migration must have ``atomic = False``. It can be run again after it was interrupted.

    ``AddIndexConcurrently`` of ``django.contrib.postgres`` works only on PostgreSQL, and fails if an interrupted run
    has left an invalid index.
    """

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            build(self, app_label, schema_editor, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}")


def build(
    operation: migrations.AddIndex, app_label: str, schema_editor: BaseDatabaseSchemaEditor, state: ProjectState
) -> None:
    """Build an index concurrently on PostgreSQL, unless an earlier run of the migration has finished it."""
    # The module can be imported only where PostgreSQL's client library is installed.
    from django.contrib.postgres.operations import AddIndexConcurrently as Build  # noqa: PLC0415

    found = select(schema_editor, INDEX_IS_VALID, operation.index.name)
    if found == [(True,)]:
        return
    # A concurrent build waits for all open transactions, but nothing waits for it.
    limits = [] if is_pooled(schema_editor) else ["lock_timeout", "statement_timeout"]
    for limit in limits:
        schema_editor.execute(f"SET {limit} = 0")
    if found:
        schema_editor.execute(f"DROP INDEX CONCURRENTLY {schema_editor.quote_name(operation.index.name)}")
    Build(operation.model_name, operation.index).database_forwards(app_label, schema_editor, state, state)
    for limit in limits:
        schema_editor.execute(f"RESET {limit}")


def is_pooled(schema_editor: BaseDatabaseSchemaEditor) -> bool:
    """Return whether the connection goes through a pooler, which would keep settings on connections that it shares.

    A pooler gives its client a process number of its own, because it uses several processes of the server.
    """
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [process] = cursor.fetchone()
    return bool(process != schema_editor.connection.connection.info.backend_pid)


def select(schema_editor: BaseDatabaseSchemaEditor, sql: str, name: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query whose parameter is the name of a table or index."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(sql, [schema_editor.quote_name(name)])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
