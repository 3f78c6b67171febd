"""Find statements of migrations that would hold up the callers of a large table."""

from contextlib import contextmanager

from django.db import transaction

BLOCKING = ["ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"]
"""The modes of locks on a table that conflict with those of reads or of writes."""

TABLES = """
    SELECT relname, now(),
        pg_stat_get_xact_tuples_returned(oid),
        pg_stat_get_xact_tuples_inserted(oid) + pg_stat_get_xact_tuples_updated(oid) +
            pg_stat_get_xact_tuples_deleted(oid),
        EXISTS (SELECT FROM pg_locks WHERE relation = pg_class.oid AND pid = pg_backend_pid() AND mode = ANY(%s))
    FROM pg_class WHERE relname = ANY(%s) AND relkind = 'r'
"""
"""Each table, when the transaction began, how many rows were read and changed, and whether callers are blocked."""


class LockWatch:
    """Record the statements that do work in proportion to a table while they block the callers of a table.

    This counts rows instead of measuring time. PostgreSQL counts the rows that a transaction reads from a table, also
    to build an index, to validate a constraint or to rewrite the table. A statement is recorded if it reads a whole
    table while its transaction holds a lock that blocks reads or writes of any table, or if its transaction has changed
    as many rows as a table has, which stay locked until it ends.
    """

    def __init__(self, database, sizes):
        """Watch the tables in ``sizes``, which maps their names to their numbers of rows."""
        self.database, self.sizes = database, sizes
        self.recorded, self.is_counting = [], False
        self.began, self.changed_before = None, {}

    def __call__(self, execute, sql, params, many, context):
        # A concurrent build cannot run in a transaction, and does not block reads or writes.
        if self.is_counting or "CONCURRENTLY" in sql:
            return execute(sql, params, many, context)
        if not self.database.in_atomic_block:
            with transaction.atomic(using=self.database.alias):  # which shows the locks until it ends
                return self(execute, sql, params, many, context)
        before = self.count()
        result = execute(sql, params, many, context)
        after = self.count()
        is_blocking = any(locked for _, _, _, locked in after.values())
        for table, (_, read, changed, _) in after.items():
            reads_all = read - before[table][1] >= self.sizes[table]
            changes_all = changed - self.changed_before[table] >= self.sizes[table]
            if (is_blocking and reads_all) or changes_all:
                self.recorded.append((sql, table))
        return result

    def count(self):
        """Return a row of ``TABLES`` for each table."""
        self.is_counting = True
        with self.database.cursor() as cursor:
            cursor.execute(TABLES, [BLOCKING, list(self.sizes)])
            tables = {table: values for table, *values in cursor}
        self.is_counting = False
        began = {began for began, *_ in tables.values()}
        if began != self.began:
            self.began, self.changed_before = began, {table: values[2] for table, values in tables.items()}
        return tables


@contextmanager
def watched(database):
    """Yield a list of the statements that hold up callers, each with the table that it reads or changes as a whole."""
    sizes = {}
    with database.cursor() as cursor:
        for table in database.introspection.table_names():
            cursor.execute(f"SELECT count(*) FROM {database.ops.quote_name(table)}")
            sizes[table] = cursor.fetchone()[0]
    watch = LockWatch(database, {table: rows for table, rows in sizes.items() if rows > 100})
    with database.execute_wrapper(watch):
        yield watch.recorded
