"""The optional text index changes how searches find bookmarks, and never which ones."""

import re
from contextlib import contextmanager
from itertools import chain
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookmarks import search
from bookmarks.models import Bookmark
from tests.bookmarks.factories import BookmarkFactory
from tests.bookmarks_service.service import ROOT
from tests.queries import queries_of

pytestmark = pytest.mark.django_db

on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has trigram indexes")


@pytest.fixture
def index():
    """Create the index in the transaction of the test, with the statements of docs/measurements.md."""
    document = (ROOT / "docs/measurements.md").read_text()
    [statements] = re.findall(r"```sql\n(CREATE EXTENSION IF NOT EXISTS pg_trgm.*?)```", document, re.DOTALL)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_available_extensions WHERE name IN ('pg_trgm', 'btree_gin')")
        if cursor.fetchone() != (2,):
            pytest.skip("the extensions are not installed")
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # An index cannot be created while checks are deferred.
        cursor.execute(statements.replace("CONCURRENTLY ", "").replace("SET ", "SET LOCAL "))
        cursor.execute("SET LOCAL enable_seqscan = off")  # The planner would not use it for a few rows.


@pytest.fixture
def without_index():
    """Search without the index."""


@pytest.fixture(autouse=True)
def small_scan(monkeypatch):
    monkeypatch.setattr(search, "MAX_SCANNED", 4)


def pages(call, **query):
    """Return the URLs on each page of a list, following ``next``."""
    found = []
    while True:
        response = call("GET", "bookmarks", query=query).json()
        found.append([bookmark["url"] for bookmark in response["bookmarks"]])
        if response["next"] is None:
            return found
        query = dict(parse_qsl(urlsplit(response["next"]).query))


WORDS = st.lists(st.sampled_from(["Needle", "needles", "NEE", "ÄÖÜ", "äöü", "a", "%", "_", "\\", " "]), max_size=4)
TEXTS = WORDS.map("".join)
KINDS = ["without_index", pytest.param("index", marks=on_postgresql)]


QUERIES = st.fixed_dictionaries(
    {"q": TEXTS.filter(len), "limit": st.integers(1, 5), "order": st.sampled_from(["newest", "oldest"])}
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(titles=st.lists(TEXTS, max_size=20), query=QUERIES)
def test_a_search_finds_what_python_finds(request, call_bookmarks, kind, titles, query):
    request.getfixturevalue(kind)
    user_group = request.getfixturevalue("user_group")
    Bookmark.objects.all().delete()
    bookmarks = [BookmarkFactory(user_group=user_group, title=title) for title in titles]
    for title in titles[:3]:
        BookmarkFactory(title=title)

    found = pages(call_bookmarks, **query)

    text = query["q"].lower()
    matching = [each.url for each in bookmarks if text in each.url or text in each.title.lower()]
    assert list(chain(*found)) == (matching if query["order"] == "oldest" else matching[::-1])
    assert max(map(len, found)) <= query["limit"]


@pytest.fixture
def needles(user_group):
    """Create three bookmarks to find, after each of which come ten others."""
    return [BookmarkFactory.create_batch(11, user_group=user_group, title=title)[0] for title in ("x", "x", "x")]


def hide(bookmarks, user_group):
    Bookmark.objects.filter(user_group=user_group).update(title="Hay")
    Bookmark.objects.filter(pk__in=[bookmark.pk for bookmark in bookmarks]).update(title="A Needle")


@on_postgresql
def test_the_index_finds_what_lies_beyond_the_bookmarks_that_were_searched(call_bookmarks, user_group, needles, index):
    hide(needles, user_group)
    urls = [bookmark.url for bookmark in reversed(needles)]

    assert pages(call_bookmarks, q="NEEDLE") == [urls]
    assert pages(call_bookmarks, q="needle", limit=2) == [urls[:2], urls[2:]]
    assert pages(call_bookmarks, q="needle", collection="") == [urls]


def test_without_the_index_the_search_is_continued_on_the_next_page(call_bookmarks, user_group, needles):
    hide(needles, user_group)

    assert [len(page) for page in pages(call_bookmarks, q="needle")] == [0, 0, 1, 0, 0, 1, 0, 0, 1]


@contextmanager
def slow_statements():
    """Make each statement that searches text take longer than the time limit of the index."""

    def wrapper(execute, sql, params, many, context):
        if "LIKE" in sql:
            execute("SELECT pg_sleep(0.3)", None, False, context)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield


@on_postgresql
def test_a_search_that_takes_the_index_too_long_is_continued_on_the_next_page(
    call_bookmarks, user_group, needles, index
):
    hide(needles, user_group)

    with slow_statements():
        found = pages(call_bookmarks, q="needle")

    assert [len(page) for page in found] == [0, 0, 1, 0, 0, 1, 0, 0, 1]


def current_settings():
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings")
        return dict(cursor.fetchall())


@on_postgresql
@pytest.mark.parametrize("slow", [True, False])
def test_the_settings_do_not_outlast_the_search(call_bookmarks, user_group, needles, index, slow):
    before = current_settings()

    with slow_statements() if slow else connection.execute_wrapper(lambda execute, *args: execute(*args)):
        call_bookmarks("GET", "bookmarks", query={"q": "needle"})

    assert current_settings() == before


@on_postgresql
def test_an_index_that_is_still_being_built_is_not_used(call_bookmarks, user_group, needles, index):
    hide(needles, user_group)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'bookmarks_by_text'::regclass")

    assert len(pages(call_bookmarks, q="needle")) == 9


@pytest.mark.parametrize(
    ("q", "supported"), [("abc", True), ("a1b", True), ("äöü", True), ("ab", False), ("a.b", False), ("://", False)]
)
def test_the_index_is_used_for_three_letters_or_digits(call_bookmarks, needles, q, supported):
    statements = queries_of(lambda: call_bookmarks("GET", "bookmarks", query={"q": q}))

    uses = [sql for sql in statements if "pg_index" in sql]
    assert len(uses) == (supported and connection.vendor == "postgresql")
