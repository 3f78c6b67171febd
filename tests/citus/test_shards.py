"""Each statement of the API on bookmarks or collections names the user group,
so that it uses one shard or partition.

Hash partitions stand in for the shards of Citus. Tests of lists, conflicts and
the admin run again on them.
"""

import os
import re
from contextlib import nullcontext

import pytest
from django.db import connection

from bookmarks.files.records import Record
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import imported as store
from tests.citus.partitions import TABLES
from tests.nested import run_tests
from tests.operations import OPERATIONS, URL, caller, valid_body_of
from tests.queries import queries_of
from tests.signals import received

TESTS_ON_PARTITIONS = [
    "tests/api/test_pagination.py",
    "tests/bookmarks/test_collections.py",
    "tests/citus/test_admin.py",
    "tests/citus/test_shards.py",
    "tests/bookmarks_service/test_concurrency.py",
]


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="the database is not PostgreSQL"
)
@pytest.mark.skipif(
    "TEST_PARTITIONS" in os.environ, reason="the database has partitions already"
)
def test_lists_conflicts_and_the_admin_work_on_partitions():
    selected = ["-m", "not database_independent", *TESTS_ON_PARTITIONS]
    assert run_tests("tests.settings", *selected, TEST_PARTITIONS="4")


def names_user_group(sql, table):
    """Return whether a statement inserts the user group of the table's rows,
    or selects the rows by it.
    """
    if sql.startswith(("INSERT", "COPY")):
        return "user_group_id" in sql.partition("VALUES")[0]
    # Django names the table of a subquery U0, since 6.1 in quotation marks.
    name = rf'(?:"{table}"|(?<="{table}" )"?U0"? WHERE .*U0"?)'
    return re.search(rf'{name}\."user_group_id" (= \(?|IN \()\d+\b', sql)


def shards_of(sql):
    """Return the partitions that a statement uses, by number.

    Equal numbers of the tables stand for one shard.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    return set(
        re.findall(r"bookmarks_(?:bookmark|collection|deletion)_(\d+_\d+)", plan)
    )


def check(statements):
    """Check that each statement on the tables names the user group and, on
    partitions, uses at most one of them.
    """
    checked = [
        (sql, table) for sql in statements for table in TABLES if f'"{table}"' in sql
    ]
    assert checked
    assert [sql for sql, table in checked if not names_user_group(sql, table)] == []
    if "TEST_PARTITIONS" in os.environ:
        shards = {
            sql: shards_of(sql)
            for sql, _ in checked
            if sql.split()[0] in ("SELECT", "UPDATE", "DELETE")
        }
        assert {sql: found for sql, found in shards.items() if len(found) > 1} == {}


@pytest.fixture
def bookmarks(user_group, collection):
    """Create bookmarks of this group and of others, on several shards."""
    for other in CollectionFactory.create_batch(8):
        BookmarkFactory(user_group=other.user_group, collection=other)
    return BookmarkFactory.create_batch(3, user_group=user_group, collection=collection)


OPERATIONS_ON_BOOKMARKS = [
    *(
        name
        for name, operation in OPERATIONS.items()
        # Those on a token do not touch the two tables.
        if operation.url_name.startswith("bookmarks:") and "access_token" not in name
    ),
    "delete_user_group",
]


@pytest.fixture(
    params=[nullcontext, received], ids=["without receivers", "with receivers"]
)
def receivers(request):
    """Run the test without and with receivers of signals, because writes then
    execute other statements.
    """
    with request.param():
        yield


@pytest.mark.usefixtures("receivers", "bookmarks")
@pytest.mark.parametrize("exists", [False, True], ids=["new URL", "stored URL"])
@pytest.mark.parametrize("name", OPERATIONS_ON_BOOKMARKS)
def test_each_statement_of_an_operation_names_the_user_group(
    api_client, user_group, name, exists
):
    if exists:
        BookmarkFactory(user_group=user_group, url=URL)
    call = caller(api_client, user_group, name)
    body = valid_body_of(name, user_group)

    check(queries_of(call, body))


@pytest.mark.parametrize("name", ["create_bookmark", "update_bookmark"])
def test_each_statement_of_a_conflict_names_the_user_group(
    api_client, user_group, name
):
    body = valid_body_of(name, user_group)
    BookmarkFactory(
        user_group=user_group, url=body["url"], collection_id=body["collection"]
    )

    check(queries_of(lambda: caller(api_client, user_group, name)(body)))


@pytest.mark.parametrize(
    "query",
    [
        {"q": "example"},
        {"tag": "a"},
        {"url": "https://example.com/"},
        {"collection": ""},
        {"order": "oldest", "limit": 1},
        {"updated_since": "2026-01-01T00:00:00Z"},
        {"created_since": "2026-01-01T00:00:00Z"},
    ],
    ids=" ".join,
)
def test_each_statement_of_a_list_names_the_user_group(
    call_bookmarks, bookmarks, query
):
    check(queries_of(lambda: call_bookmarks("GET", "bookmarks", query=query)))


@pytest.mark.parametrize("update", [False, True], ids=["new bookmarks", "with update"])
def test_each_statement_of_an_import_names_the_user_group(
    user_group, bookmarks, update
):
    urls = ["https://example.com/new", bookmarks[0].url]
    names = ("A", bookmarks[0].collection.name, None)
    records = [
        Record(line=1, url=url, title="New", collection=name)
        for url in urls
        for name in names
    ]

    with received():
        statements = queries_of(lambda: store(user_group, records, update=update))

    check(statements)
    # PostgreSQL inserts again what changes, and updates in conflicts.
    changes = [sql for sql in statements if re.search(r'UPDATE (SET|")', sql)]
    assert bool(changes) == update
