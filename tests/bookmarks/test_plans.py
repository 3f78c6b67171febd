"""Each statement of a list reads only the rows of its owner, although one
owner has almost all rows of the table.

PostgreSQL then expects that a large part of the table matches, and might read
all of it.
"""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from django.db import connection
from django.urls import reverse

from bookmarks.models import Collection
from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller
from tests.cursors import cursor_text
from tests.queries import plan_nodes, queries_of
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.api import pagination

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no statistics"
)

ROWS = 20_000
START = datetime(2026, 1, 1, tzinfo=UTC)
MIDDLE = START + timedelta(seconds=ROWS // 2)
END = START + timedelta(seconds=ROWS)

# Every tenth row belongs to the second owner. The table has the rows neither
# in the order of their creation nor of their last change, so that PostgreSQL
# expects a page of it for each row.
FILL_BOOKMARKS = """
    INSERT INTO bookmarks_bookmark
        (id, url, url_digest, title, tags, note, created_at, updated_at, user_group_id, collection_id)
    SELECT gen_random_uuid(), 'https://example.com/' || n, sha256(n::text::bytea), 'Title', '', '',
        %(start)s + (n * 7919 %% %(rows)s) * interval '1 second', %(start)s + (n * 4817 %% %(rows)s) * interval '1 second',
        CASE n %% 10 WHEN 0 THEN %(small)s ELSE %(large)s END,
        CASE n %% 100 WHEN 0 THEN %(of_small)s::uuid WHEN 1 THEN %(of_large)s::uuid END
    FROM generate_series(1, %(rows)s) n
"""
FILL_COLLECTIONS = """
    INSERT INTO bookmarks_collection (id, name, created_at, updated_at, user_group_id)
    SELECT gen_random_uuid(), 'Name ' || n,
        %(start)s + (n * 7919 %% %(rows)s) * interval '1 second', %(start)s + (n * 4817 %% %(rows)s) * interval '1 second',
        CASE n %% 10 WHEN 0 THEN %(small)s ELSE %(large)s END
    FROM generate_series(1, %(rows)s) n
"""
FILL_DELETIONS = """
    INSERT INTO bookmarks_deletion (id, object_type, object_id, deleted_at, user_group_id)
    SELECT gen_random_uuid(), 'bookmark', gen_random_uuid(),
        %(start)s + (n * 7919 %% %(rows)s) * interval '1 second',
        CASE n %% 10 WHEN 0 THEN %(small)s ELSE %(large)s END
    FROM generate_series(1, %(rows)s) n
"""
FILL_USER_GROUP_DELETIONS = """
    INSERT INTO usergroups_usergroupdeletion (id, team_id, environment, provided_id, deleted_at)
    SELECT gen_random_uuid(), CASE n %% 10 WHEN 0 THEN %(small)s ELSE %(large)s END, '', 'id_' || n,
        %(start)s + (n * 7919 %% %(rows)s) * interval '1 second'
    FROM generate_series(1, %(rows)s) n
"""
FILL_USER_GROUPS = """
    INSERT INTO usergroups_usergroup
        (team_id, environment, provided_id, name, token, mapping, created_at, updated_at)
    SELECT CASE n %% 10 WHEN 0 THEN %(small)s ELSE %(large)s END,
        '', 'id_' || n, 'Customer ' || n, 'ugt_' || n, '{}',
        %(start)s + (n * 7919 %% %(rows)s) * interval '1 second', %(start)s + (n * 4817 %% %(rows)s) * interval '1 second'
    FROM generate_series(1, %(rows)s) n
"""


def fill(sql, **params):
    with connection.cursor() as cursor:
        cursor.execute(sql, {"start": START, "rows": ROWS, **params})
        cursor.execute("ANALYZE")


@pytest.fixture
def owners(db):
    """Return two user groups, of which one has with its team 90 % of the rows."""
    groups = {"large": UserGroupFactory(), "small": UserGroupFactory()}
    collections = {
        name: Collection.objects.create(user_group=group, name="Collection")
        for name, group in groups.items()
    }
    keys = {name: group.pk for name, group in groups.items()}
    fill(
        FILL_BOOKMARKS,
        **keys,
        of_large=collections["large"].pk,
        of_small=collections["small"].pk,
    )
    fill(FILL_COLLECTIONS, **keys)
    fill(FILL_DELETIONS, **keys)
    teams = {name: group.team_id for name, group in groups.items()}
    fill(FILL_USER_GROUPS, **teams)
    fill(FILL_USER_GROUP_DELETIONS, **teams)
    return [*groups.values()]


BOOKMARK_FILTERS = {
    "all": {},
    "collection": {"collection": "ID"},
    "no collection": {"collection": ""},
    "url": {"url": "https://example.com/20"},
    "text": {"q": "nowhere"},
    "tag": {"tag": ["one"]},
    "many tags": {"tag": [f"tag {n}" for n in range(50)]},
    "text and collection": {"q": "nowhere", "collection": "ID"},
    "tags and no collection": {"tag": [*"abcdefghij"], "collection": ""},
    "tags and URL": {"tag": ["one"], "url": "https://example.com/20"},
}
WITH_ALL_TIMES = ["all", "collection", "text"]
"""The filters that are combined with each time. The others are combined with
two of them.
"""
FILTERS = {
    "bookmarks:bookmarks": BOOKMARK_FILTERS,
    "bookmarks:collections": {"all": {}, "name": {"name": "Name 20"}},
    "bookmarks:deletions": {"all": {}},
    "usergroups:users": {"all": {}, "name": {"name": "Nobody"}},
    "usergroups:users-deletions": {"all": {}},
}
TABLES = {
    "bookmarks:bookmarks": "bookmarks_bookmark",
    "bookmarks:collections": "bookmarks_collection",
    "bookmarks:deletions": "bookmarks_deletion",
    "usergroups:users": "usergroups_usergroup",
    "usergroups:users-deletions": "usergroups_usergroupdeletion",
}
OWNERS = {"bookmarks": "user_group_id = ", "usergroups": "team_id = "}
TIMES = {
    "any time": {},
    "created since the start": {"created_since": START},
    "created since the end": {"created_since": END},
    "updated since the start": {"updated_since": START},
    "updated since the end": {"updated_since": END},
    "created and updated since the middle": {
        "created_since": MIDDLE,
        "updated_since": MIDDLE,
    },
}
TIMES_OF_DELETIONS = {
    "since the start": {"since": START},
    "since the end": {"since": END},
}
ID = "01930e7a-5b5c-7c42-9f8e-3a1d5b0c7e21"


def queries_of_list(url_name, owner):
    """Yield the name and the query parameters of each kind of page."""
    collection = Collection.objects.get(user_group=owner, name="Collection")
    times = TIMES
    if url_name.endswith("deletions"):
        times = TIMES_OF_DELETIONS
    elif url_name != "bookmarks:bookmarks":
        times = {
            name: query for name, query in TIMES.items() if "created_since" not in query
        }
    for filters, time, order, direction in product(
        FILTERS[url_name],
        times,
        ["newest", "oldest"],
        ["first", "next", "previous"],
    ):
        if filters not in WITH_ALL_TIMES and "since the" in time:
            continue
        query = {**FILTERS[url_name][filters], "order": order}
        if query.get("collection"):
            query["collection"] = str(collection.pk)
        query |= {name: value.isoformat() for name, value in times[time].items()}
        if direction != "first":
            until = END if order == "oldest" else None
            query["cursor"] = cursor_text(
                url_name,
                owner,
                query,
                MIDDLE,
                ID,
                backwards=direction == "previous",
                until=until,
            )
        yield ", ".join([filters, time, order, direction]), query


@pytest.fixture
def call_as(api_client):
    """Return a function that requests a list with a token of an owner."""

    def call(owner, url_name, query):
        if url_name.startswith("bookmarks:"):
            token = AccessTokenFactory(user_group=owner, recently_used=True)
            scheme = "Bearer"
        else:
            token = ApiTokenFactory(team=owner.team, recently_used=True)
            scheme = "Token"
        request = Caller(api_client, "GET", reverse(url_name), scheme, token)
        response = request(query=query)
        assert response.status_code == 200, response.content

    return call


def wrong_scans(call_as, owner, url_name):
    """Return the scans of the pages of a list that read rows of other owners."""
    app = url_name.partition(":")[0]
    wrong = {}
    for name, query in queries_of_list(url_name, owner):
        statements = [
            sql
            for sql in queries_of(call_as, owner, url_name, query)
            if f'FROM "{TABLES[url_name]}"' in sql
        ]
        assert statements
        for sql in statements:
            for node in plan_nodes(sql):
                is_index = "Index Name" in node
                of_owner = OWNERS[app] in node.get("Index Cond", "")
                if node["Node Type"] == "Seq Scan" or (is_index and not of_owner):
                    wrong[name] = node["Node Type"]
    return wrong


def test_each_statement_of_a_list_reads_an_index_of_its_owner(
    call_as, owners, monkeypatch, settings
):
    settings.USERGROUPS_DELETION_RETENTION_DAYS = 36_500
    # of 2,000 or 18,000
    monkeypatch.setattr(pagination, "MAX_SCANNED", 200)
    for owner in owners:
        for url_name in FILTERS:
            assert wrong_scans(call_as, owner, url_name) == {}


def test_a_page_of_changes_begins_at_its_cursor(call_as, owners):
    """Otherwise, PostgreSQL would skip the rows since ``updated_since`` or
    until the time of the first page.
    """
    blocks = {}
    for owner, order, backwards in product(owners, ["newest", "oldest"], [False, True]):
        query = {"updated_since": START.isoformat(), "order": order, "limit": 1}
        query["cursor"] = cursor_text(
            "bookmarks:bookmarks",
            owner,
            query,
            MIDDLE,
            ID,
            backwards=backwards,
            until=END,
        )
        *_, page = queries_of(call_as, owner, "bookmarks:bookmarks", query)
        plan = plan_nodes(page, "ANALYZE, BUFFERS, FORMAT JSON")
        blocks[owner, order, backwards] = plan[0]["Shared Hit Blocks"]

    # The half of the index up to the cursor has more than 50 blocks for the
    # large owner.
    assert {key: number for key, number in blocks.items() if number > 10} == {}
