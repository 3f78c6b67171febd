"""The SQL that distributes the tables of both apps over the nodes of Citus, or over hash partitions of PostgreSQL.

Collections and bookmarks are distributed by their user group. Their primary keys and the foreign key between them then
contain the user group, because each shard and each partition enforces only its own constraints. The other tables are
on every node, as reference tables of Citus, or remain ordinary tables.
"""

from typing import Any

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper

from usergroups.distribution import is_distributed

from .models import Bookmark, Collection

COLLECTIONS, BOOKMARKS = DISTRIBUTED = [Collection._meta.db_table, Bookmark._meta.db_table]
REFERENCE = [
    model._meta.db_table
    for app in ("usergroups", "bookmarks")
    for model in apps.get_app_config(app).get_models()
    if not is_distributed(model)
]
"""The other tables, each after those that it refers to."""

COLUMN = "user_group_id"
COLOCATION = {COLLECTIONS: "colocate_with => 'none'", BOOKMARKS: f"colocate_with => '{COLLECTIONS}'"}
OLD = "_old"
"""The suffix of a table's name while its rows are copied."""


class Schema:
    """The two tables as they are in a PostgreSQL database."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection
        self.quote = connection.ops.quote_name

    def select(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)
            return list(cursor.fetchall())

    def is_migrated(self) -> bool:
        return {*REFERENCE, *DISTRIBUTED} <= set(self.connection.introspection.table_names())

    def has_citus(self) -> bool:
        return bool(self.select("SELECT 1 FROM pg_extension WHERE extname = 'citus'"))

    def on_citus(self) -> set[str]:
        """Return the names of the tables that are distributed tables or reference tables of Citus."""
        sql = "SELECT logicalrelid::regclass::text FROM pg_dist_partition WHERE partmethod = 'h' OR repmodel = 't'"
        return {name for (name,) in self.select(sql)}

    def partitions(self, table: str) -> int:
        """Return the number of partitions, or 0 if the table is not partitioned."""
        sql = "SELECT count(*) FROM pg_inherits WHERE inhparent = %s::regclass"
        return int(self.select(sql, self.quote(table))[0][0])

    def constraints(self, table: str, kind: str) -> list[tuple[str, str, str]]:
        """Return the name, definition and referenced table of each foreign key (``f``) or the primary key (``p``)."""
        sql = (
            "SELECT conname, pg_get_constraintdef(c.oid), coalesce(confrelid::regclass::text, '') "
            "FROM pg_constraint c WHERE conrelid = %s::regclass AND contype = %s AND conparentid = 0 ORDER BY conname"
        )
        return self.select(sql, self.quote(table), kind)

    def indexes(self, table: str) -> list[str]:
        """Return the statements that create the indexes, except for that of the primary key."""
        sql = (
            "SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') FROM pg_index "
            "WHERE indrelid = %s::regclass AND NOT indisprimary ORDER BY indexrelid"
        )
        return [statement for (statement,) in self.select(sql, self.quote(table))]

    def privileges(self, table: str) -> list[str]:
        """Return the statements that grant the privileges on the table to other roles than its owner."""
        sql = (
            "SELECT 'GRANT ' || privilege_type || ' ON ' || oid::regclass || ' TO ' || "
            "CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END "
            "FROM pg_class, aclexplode(relacl) WHERE oid = %s::regclass AND grantee <> relowner ORDER BY 1"
        )
        return [statement for (statement,) in self.select(sql, self.quote(table))]

    def to_citus(self) -> list[str]:
        """Return the statements that distribute the tables over the nodes of Citus, or none if they are distributed."""
        done = self.on_citus()
        reference = [table for table in REFERENCE if table not in done]
        local = [table for table in DISTRIBUTED if table not in done]
        if not reference and not local:
            return []
        database = self.quote(str(self.connection.settings_dict["NAME"]))
        return [
            # By default, a statement over several shards uses a connection for each of them, and the same transaction
            # can then not change a reference table. The deletion of a user group does both.
            "SET LOCAL citus.multi_shard_modify_mode TO 'sequential'",
            f"ALTER DATABASE {database} SET citus.multi_shard_modify_mode TO 'sequential'",
            # Citus would otherwise also convert the tables that refer to the first reference table, and restart their
            # identity columns.
            "SET LOCAL citus.enable_local_reference_table_foreign_keys TO off",
            *([self.drop_foreign_key()] if local else []),
            *(self.add_primary_key(table, after="DROP CONSTRAINT {}, ") for table in local),
            *(f"SELECT create_reference_table('{table}')" for table in reference),
            *(f"SELECT create_distributed_table('{table}', '{COLUMN}', {COLOCATION[table]})" for table in local),
            *([self.add_foreign_key()] if local else []),
            *(f"SELECT truncate_local_data_after_distributing_table('{table}')" for table in reversed(local)),
        ]

    def to_partitions(self, number: int) -> list[str]:
        """Return the statements that copy the tables to partitions, or none if they have this number of partitions."""
        if all(self.partitions(table) == number for table in DISTRIBUTED):
            return []
        return [
            f"SET LOCAL ROLE {self.quote(self.owner())}",
            *(statement for table in DISTRIBUTED for statement in self.copy(table, number)),
            *(f"DROP TABLE {self.quote(table + OLD)}" for table in reversed(DISTRIBUTED)),
            *(self.add_primary_key(table) for table in DISTRIBUTED),
            *(statement for table in DISTRIBUTED for statement in self.indexes(table)),
            *(statement for table in DISTRIBUTED for statement in self.other_foreign_keys(table)),
            self.add_foreign_key(),
            *(statement for table in DISTRIBUTED for statement in self.privileges(table)),
            *(f"ANALYZE {self.quote(table)}" for table in DISTRIBUTED),
        ]

    def owner(self) -> str:
        sql = "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = %s::regclass"
        return str(self.select(sql, self.quote(BOOKMARKS))[0][0])

    def copy(self, table: str, number: int) -> list[str]:
        """Return the statements that rename a table and copy its rows to a partitioned table without indexes."""
        name, old = self.quote(table), self.quote(table + OLD)
        return [
            f"ALTER TABLE {name} RENAME TO {old}",
            f"CREATE TABLE {name} (LIKE {old} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH ({COLUMN})",
            *(
                f"CREATE TABLE {self.quote(f'{table}_{number}_{remainder}')} PARTITION OF {name} "
                f"FOR VALUES WITH (MODULUS {number}, REMAINDER {remainder})"
                for remainder in range(number)
            ),
            f"INSERT INTO {name} SELECT * FROM {old}",  # noqa: S608
        ]

    def add_primary_key(self, table: str, after: str = "") -> str:
        [(name, _, _)] = self.constraints(table, "p")
        # In this order, the index also finds a row by its id alone, which the pages of the admin do.
        primary_key = f"ADD CONSTRAINT {self.quote(name)} PRIMARY KEY (id, {COLUMN})"
        return f"ALTER TABLE {self.quote(table)} {after.format(self.quote(name))}{primary_key}"

    def foreign_key(self) -> str:
        """Return the name of the foreign key of a bookmark's collection."""
        [name] = [name for name, _, target in self.constraints(BOOKMARKS, "f") if target == COLLECTIONS]
        return self.quote(name)

    def drop_foreign_key(self) -> str:
        return f"ALTER TABLE {self.quote(BOOKMARKS)} DROP CONSTRAINT {self.foreign_key()}"

    def add_foreign_key(self) -> str:
        return (
            f"ALTER TABLE {self.quote(BOOKMARKS)} ADD CONSTRAINT {self.foreign_key()} "
            f"FOREIGN KEY ({COLUMN}, collection_id) REFERENCES {self.quote(COLLECTIONS)} ({COLUMN}, id) "
            "DEFERRABLE INITIALLY DEFERRED"
        )

    def other_foreign_keys(self, table: str) -> list[str]:
        return [
            f"ALTER TABLE {self.quote(table)} ADD CONSTRAINT {self.quote(name)} {definition}"
            for name, definition, target in self.constraints(table, "f")
            if target != COLLECTIONS
        ]
