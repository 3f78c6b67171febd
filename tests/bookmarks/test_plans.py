"""PostgreSQL's plans: each statement of a list reads only the rows of its owner
that it needs, although one owner has almost all rows of the table, and
statements use unique keys even without statistics.

PostgreSQL then expects that a large part of the table matches, and might read
all of it.
"""

import re
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone

from bookmarks import exports
from bookmarks.files import Record
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.querysets import batch_writes
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.bookmarks.imports import NEVER, imported
from tests.conftest import Caller
from tests.cursors import cursor_text
from tests.queries import plan_nodes, queries_of
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory, store_tokens
from usergroups.api import pagination
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no statistics"
)

ROWS = 20_000
MAX_SCANNED = 200
MAX_READ = 2 * MAX_SCANNED
"""The number of rows that a statement of a list may read, because a search may
read some of those that it scans twice.
"""
START = datetime(2026, 1, 1, tzinfo=UTC)
MIDDLE = START + timedelta(seconds=ROWS // 2)
END = START + timedelta(seconds=ROWS)

# Every tenth row belongs to the second owner. The table has the rows neither
# in the order of their creation nor of their last change, so that PostgreSQL
# expects a page of it for each row.
OWNER = "CASE n %% 10 WHEN 0 THEN %(small)s ELSE %(large)s END"
CREATED_AT = "%(start)s + (n * 7919 %% %(rows)s) * interval '1 second'"
UPDATED_AT = "%(start)s + (n * 4817 %% %(rows)s) * interval '1 second'"
FILL_BOOKMARKS = f"""
    INSERT INTO bookmarks_bookmark
        (id, url, url_digest, title, tags, note, created_at, updated_at, user_group_id, collection_id)
    SELECT gen_random_uuid(), 'https://example.com/' || n, sha256(n::text::bytea),
        'Title', '', '', {CREATED_AT}, {UPDATED_AT}, {OWNER},
        CASE n %% 100 WHEN 0 THEN %(of_small)s::uuid WHEN 1 THEN %(of_large)s::uuid END
    FROM generate_series(1, %(rows)s) n
"""
FILL_COLLECTIONS = f"""
    INSERT INTO bookmarks_collection (id, name, created_at, updated_at, user_group_id)
    SELECT gen_random_uuid(), 'Name ' || n, {CREATED_AT}, {UPDATED_AT}, {OWNER}
    FROM generate_series(1, %(rows)s) n
"""
FILL_DELETIONS = f"""
    INSERT INTO bookmarks_deletion (id, object_type, object_id, deleted_at, user_group_id)
    SELECT gen_random_uuid(), 'bookmark', gen_random_uuid(), {CREATED_AT}, {OWNER}
    FROM generate_series(1, %(rows)s) n
"""
FILL_USER_GROUP_DELETIONS = f"""
    INSERT INTO usergroups_usergroupdeletion (id, team_id, environment, provided_id, deleted_at)
    SELECT gen_random_uuid(), {OWNER}, '', 'id_' || n, {CREATED_AT}
    FROM generate_series(1, %(rows)s) n
"""
FILL_USER_GROUPS = f"""
    INSERT INTO usergroups_usergroup
        (team_id, environment, provided_id, name, token, mapping, created_at, updated_at)
    SELECT {OWNER}, '', 'id_' || n, 'Customer ' || n, 'ugt_' || %(large)s || '_' || n,
        '{{}}', {CREATED_AT}, {UPDATED_AT}
    FROM generate_series(1, %(rows)s) n
"""
# Revoked, because the number of active tokens is limited.
FILL_ACCESS_TOKENS = f"""
    INSERT INTO bookmarks_accesstoken
        (team_id, user_group_id, environment, digest, hint, name, read_only, created_at,
        revoked_at, last_used_address, last_used_agent)
    SELECT {OWNER}, CASE n %% 10 WHEN 0 THEN %(of_small)s ELSE %(of_large)s END, '',
        sha256((%(large)s || ' ' || n)::bytea), '', '', FALSE, {CREATED_AT}, {CREATED_AT},
        '', ''
    FROM generate_series(1, %(rows)s) n
"""


def fill(sql, **params):
    with connection.cursor() as cursor:
        cursor.execute(sql, {"start": START, "rows": ROWS, **params})


@pytest.fixture
def owners(db):
    """Return two user groups, of which one has with its team 90 % of the rows,
    and one that the statistics miss.
    """
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
    fill(FILL_ACCESS_TOKENS, **teams, of_large=keys["large"], of_small=keys["small"])
    fill(FILL_USER_GROUPS, **teams)
    fill(FILL_USER_GROUP_DELETIONS, **teams)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        # Otherwise PostgreSQL may read a whole group, because its rows share
        # few blocks of such a small table.
        cursor.execute("SET LOCAL seq_page_cost = 4")
    missed = CollectionFactory(name="Collection")
    keys = dict.fromkeys(["large", "small"], missed.user_group.pk)
    fill(FILL_BOOKMARKS, **keys, of_large=missed.pk, of_small=missed.pk)
    return [*groups.values(), missed.user_group]


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
    "access_tokens:team-access-tokens": {
        "all": {},
        "expiry": {"expires_before": "2100-01-01T00:00:00Z"},
    },
}
TABLES = {
    "bookmarks:bookmarks": "bookmarks_bookmark",
    "bookmarks:collections": "bookmarks_collection",
    "bookmarks:deletions": "bookmarks_deletion",
    "usergroups:users": "usergroups_usergroup",
    "usergroups:users-deletions": "usergroups_usergroupdeletion",
    "access_tokens:team-access-tokens": "bookmarks_accesstoken",
}
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
    key = ID
    if url_name.endswith("deletions"):
        times = TIMES_OF_DELETIONS
    elif url_name.endswith("tokens"):
        times = {"any time": {}}
        key = b""
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
                key,
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


def explain(sql):
    """Execute a statement and return the nodes of its plan with the numbers of
    rows.
    """
    return plan_nodes(sql, "ANALYZE, FORMAT JSON")


def rows_read(plan, table="bookmarks_bookmark"):
    """Return the number of rows of a table that were read, including those
    that a condition excluded.
    """
    read = [node for node in plan if node.get("Relation Name", "").startswith(table)]
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
        * node["Actual Loops"]
        for node in read
    )


def wrong_scans(call_as, owner, url_name):
    """Return the scans of the pages of a list that read rows of other owners."""
    owner_condition = "team_id = "
    if url_name.startswith("bookmarks:"):
        owner_condition = "user_group_id = "
    wrong = {}
    for name, query in queries_of_list(url_name, owner):
        statements = [
            sql
            for sql in queries_of(call_as, owner, url_name, query)
            if f'FROM "{TABLES[url_name]}"' in sql
        ]
        assert statements
        for sql in statements:
            plan = explain(sql)
            if rows_read(plan, TABLES[url_name]) > MAX_READ:
                wrong[name] = rows_read(plan, TABLES[url_name])
            for node in plan:
                condition = node.get("Index Cond", "")
                # A token has its user group, by a join, and its predecessor and
                # successor, by their keys.
                relation = node.get("Relation Name", TABLES[url_name])
                is_joined = not relation.startswith(TABLES[url_name])
                if is_joined or " = bookmarks_accesstoken." in condition:
                    continue
                is_index = "Index Name" in node
                of_owner = owner_condition in condition
                if node["Node Type"] == "Seq Scan" or (is_index and not of_owner):
                    wrong[name] = node["Node Type"]
    return wrong


def test_each_statement_of_a_list_reads_an_index_of_its_owner(
    call_as, owners, monkeypatch, settings
):
    settings.USERGROUPS_DELETION_RETENTION_DAYS = 36_500
    # of 2,000, 18,000 or 20,000
    monkeypatch.setattr(pagination, "MAX_SCANNED", MAX_SCANNED)
    *known, missed = owners
    for owner in known:
        for url_name in FILTERS:
            assert wrong_scans(call_as, owner, url_name) == {}
    wrong = wrong_scans(call_as, missed, "bookmarks:bookmarks")
    # To find a URL, PostgreSQL reads all rows of an owner that the statistics
    # miss, because it expects none of them in any index. Autovacuum limits their
    # number. If the condition on the owner were hidden from the planner, Citus
    # would not find the shard.
    assert [name for name in wrong if "url" not in name.lower()] == []


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


def test_an_export_reads_each_collection_by_itself(owners, monkeypatch):
    monkeypatch.setattr(exports, "PAGE_SIZE", ROWS)
    *_, missed = owners
    bookmarks = Bookmark.objects.filter(user_group=missed)
    inside = bookmarks.exclude(collection=None).count()

    statements = queries_of(lambda: list(exports.load(missed)))

    read = [rows_read(explain(sql)) for sql in statements if '"collection_id" I' in sql]
    # Those in no collection come first.
    by_one = [
        rows_read(explain(sql)) for sql in statements if '"collection_id" =' in sql
    ]
    assert sum(read) <= ROWS
    assert by_one == [inside]


KEYS = 100


def calls_with_keys(user_group):
    """Return the calls whose statements contain a list of keys, by name."""
    bookmarks = Bookmark.objects.filter(user_group=user_group).order_by("pk")[:KEYS]
    urls = [bookmark.url for bookmark in bookmarks]
    ids = [str(bookmark.pk) for bookmark in bookmarks]
    changes = [{"url": url, "title": "New"} for url in urls]
    records = [Record(1, url, "Newer") for url in urls]
    names = [f"other_{n}" for n in range(KEYS)]
    groups = [{"provided_id": name, "name": "New"} for name in names]
    collection = CollectionFactory(user_group=user_group)
    # Each bookmark in it has a duplicate outside.
    full = CollectionFactory(user_group=user_group)
    Bookmark.objects.bulk_create(
        Bookmark(user_group=user_group, collection=full, url=url, tags=["old"])
        for url in urls
    )
    scope = user_group.scope
    return {
        "lookup": lambda: Bookmark.objects.find_by_urls(user_group, urls),
        "batch": lambda: Bookmark.objects.add_many(user_group, changes, update=True),
        "import": lambda: imported(user_group, records, update=True),
        "size of a batch": lambda: Bookmark.objects.estimate_add_size(
            user_group, changes
        ),
        "size of a move": lambda: Bookmark.objects.estimate_move_size(user_group, ids),
        "move": lambda: Bookmark.objects.move_by_ids(user_group, ids, collection),
        "deletion": lambda: Bookmark.objects.delete_by_ids(user_group, ids),
        "rename": lambda: list(Bookmark.objects.rename_tag(user_group, "old", "new")),
        "collection": full.delete,
        "upsert": lambda: UserGroup.objects.upsert(groups, scope),
        "existing": lambda: UserGroup.objects.existing_ids(names, scope),
        "deletion of groups": lambda: UserGroup.objects.delete_each(
            names, scope, NEVER
        ),
    }


@contextmanager
def rolled_back():
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def rows_read_by(call):
    """Return how many bookmarks or user groups each statement of a call reads,
    and undo what the call writes.
    """
    numbers = []

    def explain_first(execute, sql, params, many, context):
        if sql.startswith(("SELECT", "UPDATE", "DELETE")):
            text = connection.ops.last_executed_query(context["cursor"], sql, params)
            with rolled_back():
                plan = explain(text)
            numbers.extend(
                rows_read(plan, table)
                for table in ("bookmarks_bookmark", "usergroups_usergroup")
            )
        return execute(sql, params, many, context)

    with rolled_back(), connection.execute_wrapper(explain_first):
        call()
    return numbers


@pytest.mark.parametrize("others", [0, 2000], ids=["empty", "of others"])
def test_statements_with_keys_read_an_owner_once_with_old_statistics(
    user_group, others, monkeypatch
):
    """PostgreSQL then expects few rows of the owner. It reads all of them once
    to find those with the keys. If it looked up each key by itself, it might
    read all of them for each key.
    """
    monkeypatch.setattr(batch_writes, "MAX_UNMEASURED", 1)
    other = UserGroupFactory()
    fill_owner(other, others)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE bookmarks_bookmark, usergroups_usergroup")
        # Otherwise PostgreSQL may read all of a table that has so few blocks.
        cursor.execute("SET LOCAL seq_page_cost = 4")
    fill_owner(user_group, 2000)
    read = {
        name: rows_read_by(call) for name, call in calls_with_keys(user_group).items()
    }

    assert all(map(any, read.values()))
    assert {name: max(rows) for name, rows in read.items() if max(rows) > 2100} == {}


def fill_owner(user_group, number):
    """Add bookmarks to the user group, and as many groups to its team."""
    Bookmark.objects.bulk_create(
        Bookmark(user_group=user_group, url=f"https://{n}.test/") for n in range(number)
    )
    UserGroup.objects.bulk_create(
        UserGroup(team=user_group.team, provided_id=f"other_{n}") for n in range(number)
    )


def test_the_count_of_active_tokens_reads_no_others(user_group):
    past = timezone.now() - timedelta(days=1)
    future = timezone.now() + timedelta(days=1)
    owner = {"user_group": user_group, **user_group.scope}
    store_tokens(AccessToken, 2000, **owner, expires_at=past)
    store_tokens(AccessToken, 2000, **owner, revoked_at=past)
    store_tokens(AccessToken, 5, **owner)
    store_tokens(AccessToken, 6, **owner, expires_at=future)
    with connection.cursor() as cursor:
        # The rows that other tests have rolled back make the indexes large.
        cursor.execute("REINDEX TABLE bookmarks_accesstoken")
        # PostgreSQL takes the conditions as independent, and expects 1,000 rows.
        # Reading all of this small table would then cost about as much.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("ANALYZE")

    statements = queries_of(AccessToken.objects.count_active, [user_group])

    assert [rows_read(explain(sql), "bookmarks_accesstoken") for sql in statements] == [
        5,
        6,
    ]


# Without statistics, as in a new database

UNIQUE = re.compile(
    "_pkey|_digest_key|usergroups_provided_id|bookmarks_url|_user_group_id_url_digest_"
)
"""Matches the names of the indexes of unique keys, of a table or of its
partitions.
"""


@pytest.fixture
def without_statistics(user_group):
    """Add rows of the same owners to each table, so that indexes other than
    those of unique keys would be slower, and delete the statistics. Return the
    user group.
    """
    AccessTokenFactory.create_batch(20, user_group=user_group)
    fill_owner(user_group, 5000)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM pg_statistic WHERE starelid::regclass::text ~ "
            "'^(usergroups|bookmarks)_'"
        )
        # As before the first vacuum. Autovacuum may have seen the tables
        # empty.
        cursor.execute(
            "UPDATE pg_class SET relpages = 0, reltuples = -1 WHERE relname ~ "
            "'^(usergroups|bookmarks)_'"
        )
    return user_group


def scans_of(statements):
    """Return the nodes of the plans of statements that read a table or an
    index.
    """
    nodes = [node for sql in statements for node in plan_nodes(sql)]
    # A Bitmap Heap Scan has no index, but the Bitmap Index Scan below it has.
    return [
        node
        for node in nodes
        if "Scan" in node["Node Type"] and node["Node Type"] != "Bitmap Heap Scan"
    ]


def without_unique_key(scans):
    """Return the indexes of the scans that use none of a unique key."""
    used = [scan.get("Index Name", scan["Node Type"]) for scan in scans]
    return [name for name in used if not UNIQUE.search(name)]


def test_each_statement_uses_unique_keys(
    update_user_group, call_bookmarks, without_statistics
):
    url = "https://example.com/"
    user_group = without_statistics
    bookmark = BookmarkFactory(user_group=user_group, url=f"{url}there")
    actions = {
        "PUT": lambda: update_user_group(
            {"user_group_id": user_group.provided_id, "name": "New name"}
        ),
        "POST": lambda: call_bookmarks("POST", "bookmarks", body={"url": url}),
        "POST again": lambda: call_bookmarks(
            "POST", "bookmarks", body={"url": bookmark.url}
        ),
        "GET": lambda: call_bookmarks("GET", "bookmark", bookmark.pk),
    }

    for call in actions.values():
        scans = scans_of(queries_of(call))
        assert scans
        assert without_unique_key(scans) == []


# With statistics of one owner that has almost all tokens


@pytest.fixture
def last_user_group(user_group):
    """Give 5,000 tokens of each kind to the first of 2,000 teams and user
    groups, analyse the tables, and return a last user group with a team.

    PostgreSQL then expects a merge join of tokens and owners to end at the
    first owner, and to be cheap. For the last owner, it would read all rows.
    """
    first_team = user_group.team
    Team.objects.bulk_create(Team(name=f"Skewed {n}") for n in range(2000))
    UserGroup.objects.bulk_create(
        UserGroup(team=first_team, provided_id=f"skewed_{n}") for n in range(2000)
    )
    store_tokens(ApiToken, 5000, team=first_team)
    store_tokens(AccessToken, 5000, user_group=user_group, **user_group.scope)
    owner = UserGroupFactory()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return owner


def test_authentication_uses_unique_keys_whatever_the_statistics_are(last_user_group):
    api_token = ApiTokenFactory(team=last_user_group.team)
    access_token = AccessTokenFactory(user_group=last_user_group)
    for token in (api_token, access_token):
        [statement] = queries_of(type(token).objects.with_secret, token.secret)

        kinds = [node["Node Type"] for node in plan_nodes(statement)]
        # A nested loop is not named a join.
        assert [kind for kind in kinds if "Join" in kind] == []
        assert without_unique_key(scans_of([statement])) == []
