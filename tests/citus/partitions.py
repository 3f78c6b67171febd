"""Hash partitions of PostgreSQL, which stand in for the shards of Citus.

The tables have the keys that Citus needs.
"""

from typing import Any

TABLES = ["bookmarks_collection", "bookmarks_bookmark", "bookmarks_deletion"]


def statements_of(cursor: Any, table: str) -> list[str]:
    """Return the statements that recreate the indexes and the foreign keys of
    a table.
    """
    cursor.execute(
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = "
        "%s::regclass AND NOT indisprimary",
        [table],
    )
    statements = [statement for (statement,) in cursor.fetchall()]
    cursor.execute(
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = "
        "%s::regclass AND contype = 'f'",
        [table],
    )
    for name, definition in cursor.fetchall():
        statements.append(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
    return statements


def partition(cursor: Any, number: int) -> None:
    """Divide the empty TABLES into this number of partitions by user group."""
    indexes_and_keys = [
        statement for table in TABLES for statement in statements_of(cursor, table)
    ]
    for table in TABLES:
        cursor.execute(
            f"CREATE TABLE new (LIKE {table} INCLUDING ALL EXCLUDING INDEXES) "
            "PARTITION BY HASH (user_group_id)"
        )
        for remainder in range(number):
            bounds = f"FOR VALUES WITH (MODULUS {number}, REMAINDER {remainder})"
            cursor.execute(
                f"CREATE TABLE {table}_{number}_{remainder} PARTITION OF new {bounds}"
            )
        cursor.execute(f"DROP TABLE {table} CASCADE")
        cursor.execute(f"ALTER TABLE new RENAME TO {table}")
        cursor.execute(
            f"ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY (id, "
            "user_group_id)"
        )
    for statement in indexes_and_keys:
        cursor.execute(statement)
