"""Without statistics, as in a new database, each statement on one object finds its rows by unique keys."""

import re

import pytest
from django.db import connection

from bookmarks.models import Bookmark
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.queries import plan_nodes, queries_of
from usergroups.models import UserGroup

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has such statistics"),
]

UNIQUE = re.compile("_pkey|_digest_key|usergroups_provided_id|bookmarks_url|_user_group_id_url_digest_")
"""The indexes of unique keys, of a table or of its partitions."""


@pytest.fixture
def user_group(user_group):
    """Add rows of the same owners to each table, so that other indexes would be slower, and delete the statistics."""
    AccessTokenFactory.create_batch(20, user_group=user_group)
    UserGroup.objects.bulk_create(UserGroup(team=user_group.team, provided_id=f"other_{n}") for n in range(1000))
    Bookmark.objects.bulk_create(Bookmark(user_group=user_group, url=f"https://{n}.test/") for n in range(5000))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text ~ '^(usergroups|bookmarks)_'")
        # As before the first vacuum. Autovacuum may have seen the tables empty.
        cursor.execute("UPDATE pg_class SET relpages = 0, reltuples = -1 WHERE relname ~ '^(usergroups|bookmarks)_'")
    return user_group


@pytest.mark.parametrize("call", ["PUT", "POST", "POST again", "GET"])
def test_each_statement_uses_unique_keys(update_user_group, call_bookmarks, user_group, call):
    url = "https://example.com/"
    bookmark = BookmarkFactory(user_group=user_group, url=f"{url}there")
    actions = {
        "PUT": lambda: update_user_group({"user_group_id": user_group.provided_id, "name": "New name"}),
        "POST": lambda: call_bookmarks("POST", "bookmarks", body={"url": url}),
        "POST again": lambda: call_bookmarks("POST", "bookmarks", body={"url": bookmark.url}),
        "GET": lambda: call_bookmarks("GET", "bookmark", bookmark.pk),
    }

    statements = queries_of(actions[call])

    nodes = [node for sql in statements for node in plan_nodes(sql)]
    found = [node for node in nodes if "Scan" in node["Node Type"] and node["Node Type"] != "Bitmap Heap Scan"]
    assert found
    assert [name for scan in found if not UNIQUE.search(name := scan.get("Index Name", scan["Node Type"]))] == []
