"""PostgreSQL's plans: a page reads only its own rows, and statements use
unique keys even without statistics.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, product

import pytest
from django.db import connection
from django.utils import timezone

from bookmarks import exports
from bookmarks.files import Record
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.bookmarks.imports import imported
from tests.cursors import cursor_text
from tests.queries import plan_nodes, queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.api import pagination
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql",
    reason="SQLite does not say how many rows it reads",
)

FILL = """
    INSERT INTO bookmarks_bookmark
        (id, url, url_digest, title, tags, note, created_at, updated_at, user_group_id, collection_id)
    SELECT gen_random_uuid(), 'https://example.com/' || n, sha256((%(start)s::text || n)::bytea), '', '', '',
        %(start)s + n * interval '1 second', now(),
        CASE n %% 2 WHEN 0 THEN %(group)s ELSE (%(others)s::bigint[])[n / 2 %% %(number)s + 1] END,
        CASE n %% 4
            WHEN 1 THEN (%(collections_of_others)s::uuid[])[n / 2 %% %(number)s + 1]
            WHEN 3 THEN NULL
            -- NULL for 11 to 20, as there are 10 collections
            ELSE (%(collections)s::uuid[])[n / 2 %% 20 + 1] END
    FROM generate_series(1, %(rows)s) n
"""
OLD = datetime(2020, 1, 1, tzinfo=UTC)
NEW = datetime(2026, 1, 1, tzinfo=UTC)


def new_group(others, start, rows):
    """Add ``rows`` bookmarks, one for each second from ``start`` on, and
    return a new user group that has half of them.

    Its bookmarks are in 10 collections or in none. The other half of the
    bookmarks belongs in turn to the user groups in ``others``, which has the
    key of one collection for each key of a group.
    """
    group = UserGroupFactory()
    collections = [
        collection.pk
        for collection in CollectionFactory.create_batch(10, user_group=group)
    ]
    params = {
        "start": start,
        "rows": rows,
        "group": group.pk,
        "collections": collections,
        "others": [*others],
        "collections_of_others": [*others.values()],
        "number": len(others),
    }
    with connection.cursor() as cursor:
        cursor.execute(FILL, params)
    return group


@pytest.fixture
def groups(user_group):
    """Return large user groups by name, among 300 small ones.

    The statistics of the table miss the last large one.
    """
    small = (
        UserGroup(team=user_group.team, provided_id=str(n), name="A", token=f"ugt_{n}")
        for n in range(300)
    )
    small = UserGroup.objects.bulk_create(small)
    collections = Collection.objects.bulk_create(
        Collection(user_group=group, name=str(n)) for group in small for n in range(10)
    )
    # the last one of each group
    others = {collection.user_group_id: collection.pk for collection in collections}
    groups = {
        "old": new_group(others, OLD, 16_000),
        "new": new_group(others, NEW, 20_000),
    }
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        # Otherwise PostgreSQL may read a whole group, because its rows share
        # few blocks of such a small table.
        cursor.execute("SET LOCAL seq_page_cost = 4")
    if "TEST_PARTITIONS" not in os.environ:
        # A partition of this size has statistics for each of its user groups.
        # PostgreSQL then expects only one row of a group that they miss, for
        # which all indexes cost the same.
        unknown = new_group(others, OLD + timedelta(days=1), 16_000)
        groups["unknown to the statistics"] = unknown
    return groups


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


def sorts(plans):
    """Return the nodes of plans that sort rows."""
    return [node for node in chain(*plans) if "Sort" in node["Node Type"]]


# The sizes of 50 rows and of one more, which shows that there is a next page,
# and then the 50 rows.
A_PAGE = [51, 50]


def queries(user_group):
    """Return the query parameters of lists, by name.

    Each list has more bookmarks than a page.
    """
    bookmarks = Bookmark.objects.filter(user_group=user_group).order_by(
        "created_at", "id"
    )
    middle = bookmarks[bookmarks.count() // 2]
    position = (middle.created_at, middle.pk)
    collection = Collection.objects.filter(user_group=user_group).order_by("pk")[5].pk
    return {
        "newest": {},
        "oldest": {"order": "oldest"},
        "middle": {
            "cursor": cursor_text("bookmarks:bookmarks", user_group, {}, *position)
        },
        "back": {
            "cursor": cursor_text(
                "bookmarks:bookmarks", user_group, {}, *position, backwards=True
            )
        },
        "since": {"created_since": middle.created_at.isoformat(), "order": "oldest"},
        "collection": {"collection": collection},
        "middle of the collection": {
            "collection": collection,
            "cursor": cursor_text(
                "bookmarks:bookmarks",
                user_group,
                {"collection": str(collection)},
                *position,
            ),
        },
        "oldest of the collection": {"collection": collection, "order": "oldest"},
    }


def plans_of_page(call_bookmarks, user_group, query):
    """Request a page of bookmarks and return the plans of its statements."""
    token = AccessTokenFactory(user_group=user_group, recently_used=True)
    statements = queries_of(
        partial(call_bookmarks, "GET", "bookmarks", query=query, token=token)
    )
    return [explain(sql) for sql in statements if 'FROM "bookmarks_bookmark"' in sql]


def test_a_page_reads_only_its_own_bookmarks(call_bookmarks, groups):
    wrong = {}
    for name, user_group in groups.items():
        for page, query in queries(user_group).items():
            plans = plans_of_page(call_bookmarks, user_group, query)
            if [rows_read(plan) for plan in plans] != A_PAGE or sorts(plans):
                wrong[name, page] = plans

    assert wrong == {}


def test_a_search_reads_only_the_bookmarks_that_it_may_scan(
    call_bookmarks, groups, monkeypatch
):
    monkeypatch.setattr(pagination, "MAX_SCANNED", 200)

    text = plans_of_page(call_bookmarks, groups["old"], {"q": "nowhere"})
    tags = plans_of_page(call_bookmarks, groups["old"], {"tag": ["one", "two"]})

    # One finds out whether there are more than 200, one finds the position of
    # the last, and one searches.
    assert [rows_read(plan) for plan in text] == [201, 200, 200]
    assert [rows_read(plan) for plan in tags] == [201, 200, 200]


def test_an_export_of_collections_reads_each_bookmark_twice(groups, monkeypatch):
    monkeypatch.setattr(exports, "PAGE_SIZE", 10_000)
    for user_group in groups.values():
        bookmarks = Bookmark.objects.filter(user_group=user_group)
        inside = bookmarks.exclude(collection=None).count()

        statements = queries_of(lambda group=user_group: list(exports.load(group)))

        read = [
            rows_read(explain(sql)) for sql in statements if '"collection_id" I' in sql
        ]
        # Those in no collection come first. Then the ten collections that have
        # bookmarks are found, and read one at a time.
        outside = bookmarks.count() - inside
        by_one = [
            rows_read(explain(sql)) for sql in statements if '"collection_id" =' in sql
        ]
        assert read == [outside, inside]
        assert by_one == [inside / 10] * 10 if inside else by_one == []


@pytest.mark.parametrize("others", [0, 5000], ids=["empty", "of others"])
def test_an_import_that_updates_writes_no_other_bookmarks_with_old_statistics(
    user_group, others
):
    """PostgreSQL then expects few bookmarks of the user group. It reads all of
    them once to find the bookmarks of a chunk. If it looked up each key by
    itself, it might read all of them for each key.
    """
    records = [Record(1, f"https://example.com/{n}", "Old") for n in range(5000)]
    imported(UserGroupFactory(), records[:others])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE bookmarks_bookmark")
    imported(user_group, records)
    changed = [record._replace(title="New") for record in records[:100]]

    statements = queries_of(partial(imported, user_group, changed, update=True))

    select, update = [
        rows_read(explain(sql)) for sql in statements if "bookmarks_bookmark" in sql
    ]
    assert update == 100
    assert 100 <= select <= 5000


def test_the_count_of_active_tokens_reads_no_others(user_group):
    past = timezone.now() - timedelta(days=1)
    future = timezone.now() + timedelta(days=1)
    states = (
        [{"expires_at": past}] * 2000
        + [{"revoked_at": past}] * 2000
        + [{}] * 5
        + [{"expires_at": future}] * 6
    )
    tokens = [
        AccessToken(
            user_group=user_group,
            digest=n.to_bytes(32, "big"),
            **user_group.scope,
            **state,
        )
        for n, state in enumerate(states)
    ]
    # PostgreSQL takes at most 65,535 parameters.
    AccessToken.objects.bulk_create(tokens, batch_size=1000)
    with connection.cursor() as cursor:
        # The rows that other tests have rolled back make the indexes large.
        cursor.execute("REINDEX TABLE bookmarks_accesstoken")
        cursor.execute("ANALYZE")

    statements = queries_of(AccessToken.objects.count_active, [user_group])

    assert [rows_read(explain(sql), "bookmarks_accesstoken") for sql in statements] == [
        5,
        6,
    ]


# The access tokens of a team

FILL_TOKENS = """
    INSERT INTO bookmarks_accesstoken
        (user_group_id, team_id, environment, digest, hint, name, read_only, created_at, last_used_address,
        last_used_agent)
    SELECT %(group)s, %(team)s, '', sha256((%(group)s || ' ' || n)::bytea), '', '', FALSE,
        %(start)s + n * interval '1 second', '', ''
    FROM generate_series(1, %(rows)s) n
"""


@pytest.fixture
def many_tokens(user_group):
    """Give 2,000 access tokens to ``user_group``, and 20,000 to those of
    other teams.
    """
    others = UserGroupFactory.create_batch(10)
    with connection.cursor() as cursor:
        for group in [user_group, *others]:
            values = {"group": group.pk, "team": group.team_id, "start": OLD}
            cursor.execute(FILL_TOKENS, {**values, "rows": 2_000})
        cursor.execute("ANALYZE")


def test_a_page_of_the_tokens_of_a_team_reads_no_others(
    call_access_tokens, user_group, many_tokens
):
    wrong = {}
    for order, seconds in product(["newest", "oldest"], [None, 1_000]):
        query = {"order": order}
        if seconds is not None:
            created_at = OLD + timedelta(seconds=seconds)
            query["cursor"] = cursor_text(
                "access_tokens:team-access-tokens", user_group, query, created_at, b""
            )

        _token, page = queries_of(
            partial(call_access_tokens, "GET", "team-access-tokens", query=query)
        )

        plan = explain(page)
        if rows_read(plan, "bookmarks_accesstoken") != 51 or sorts([plan]):
            wrong[order, seconds] = plan

    assert wrong == {}


def test_a_list_by_expiry_reads_only_the_tokens_that_it_may_scan(
    call_access_tokens, many_tokens, monkeypatch
):
    monkeypatch.setattr(pagination, "MAX_SCANNED", 200)

    statements = queries_of(
        partial(
            call_access_tokens,
            "GET",
            "team-access-tokens",
            query={"expires_before": "2100-01-01T00:00:00Z"},
        )
    )

    # As for the list of user groups by name.
    assert [
        rows_read(explain(sql), "bookmarks_accesstoken") for sql in statements[1:]
    ] == [201, 200, 200]


# Lists of user groups

FILL_GROUPS = """
    INSERT INTO usergroups_usergroup
        (team_id, environment, provided_id, name, token, mapping, created_at, updated_at)
    SELECT CASE n %% 2 WHEN 0 THEN %(team)s ELSE %(other)s END, '', 'id_' || n, 'Customer ' || n, 'ugt_' || n, '{}',
        %(start)s + n * interval '1 second', %(start)s + (n * 7919 %% 20000) * interval '1 second'
    FROM generate_series(1, 20000) n
"""


@pytest.fixture
def many_groups(user_group):
    """Add 10,000 groups to the team of ``user_group``, and as many to another
    one. Return the time of the last.
    """
    params = {"team": user_group.team_id, "other": TeamFactory().pk, "start": OLD}
    UserGroup.objects.filter(pk=user_group.pk).update(created_at=OLD, updated_at=OLD)
    with connection.cursor() as cursor:
        cursor.execute(FILL_GROUPS, params)
        cursor.execute("ANALYZE")
    return OLD + timedelta(seconds=20_000)


def plans_of_groups(call_usergroups, query):
    """Request a page of user groups and return the plans of its statements."""
    _token, *statements = queries_of(call_usergroups, "GET", "users", b"", query)
    return [explain(sql) for sql in statements]


def test_a_list_by_time_of_update_reads_only_its_own_groups(
    call_usergroups, user_group, many_groups
):
    wrong = {}
    for order, seconds in product(["newest", "oldest"], [20_000, 10_000]):
        since = (many_groups - timedelta(seconds=seconds)).isoformat()
        updated = UserGroup.objects.filter(updated_at__gte=since)
        middle = updated.order_by("updated_at")[100]
        query = {"updated_since": since, "order": order}
        query["cursor"] = cursor_text(
            "usergroups:users",
            user_group,
            query,
            middle.updated_at,
            middle.provided_id,
            backwards=order == "newest",
        )
        plans = plans_of_groups(call_usergroups, query)
        read = [rows_read(plan, "usergroups_usergroup") for plan in plans]
        if read != A_PAGE or sorts(plans):
            wrong[order, seconds] = plans

    assert wrong == {}


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_a_poll_without_changes_reads_no_group(call_usergroups, many_groups, order):
    query = {"updated_since": many_groups.isoformat(), "order": order}

    plans = plans_of_groups(call_usergroups, query)

    assert [rows_read(plan, "usergroups_usergroup") for plan in plans] == [0]


def test_a_list_by_name_reads_only_the_groups_that_it_may_scan(
    call_usergroups, many_groups, monkeypatch
):
    monkeypatch.setattr(pagination, "MAX_SCANNED", 200)

    statements = queries_of(call_usergroups, "GET", "users", b"", {"name": "nobody"})

    plans = [explain(sql) for sql in statements if 'FROM "usergroups_usergroup"' in sql]
    # One finds out whether there are more than 200, one finds the position of
    # the last, and one searches.
    assert [rows_read(plan, "usergroups_usergroup") for plan in plans] == [
        201,
        200,
        200,
    ]


def test_a_page_of_groups_reads_only_its_own_groups(call_usergroups, many_groups):
    plans = plans_of_groups(call_usergroups, {})

    assert [rows_read(plan, "usergroups_usergroup") for plan in plans] == A_PAGE
    assert sorts(plans) == []


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
    UserGroup.objects.bulk_create(
        UserGroup(team=user_group.team, provided_id=f"other_{n}") for n in range(1000)
    )
    Bookmark.objects.bulk_create(
        Bookmark(user_group=user_group, url=f"https://{n}.test/") for n in range(5000)
    )
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
    digests = [n.to_bytes(32, "big") for n in range(5000)]
    api_tokens = [ApiToken(team=first_team, digest=digest) for digest in digests]
    access_tokens = (
        AccessToken(user_group=user_group, digest=digest, **user_group.scope)
        for digest in digests
    )
    # PostgreSQL takes at most 65,535 parameters.
    ApiToken.objects.bulk_create(api_tokens, batch_size=1000)
    AccessToken.objects.bulk_create(access_tokens, batch_size=1000)
    owner = UserGroupFactory(team=TeamFactory())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return owner


def test_authentication_uses_unique_keys_whatever_the_statistics_are(last_user_group):
    api_token = ApiTokenFactory(team=last_user_group.team)
    access_token = AccessTokenFactory(user_group=last_user_group)
    for token in (api_token, access_token):
        [statement] = queries_of(type(token).objects.authenticate, token.secret)

        kinds = [node["Node Type"] for node in plan_nodes(statement)]
        # A nested loop is not named a join.
        assert [kind for kind in kinds if "Join" in kind] == []
        assert without_unique_key(scans_of([statement])) == []
