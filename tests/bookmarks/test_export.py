"""Exports: the reading of bookmarks in pages, and GET /v1/export, which sends
them as a file.
"""

import io
import json
from contextlib import ExitStack, closing
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import F
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from bookmarks import exports
from bookmarks.exports import Download, load, write
from bookmarks.files import EXPORT_FORMATS, read
from bookmarks.models import Bookmark, Collection
from tests.answers import error_code, errors
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.calls_in_progress import begin_call
from tests.clock import Clock
from tests.conftest import Caller
from tests.queries import on_another_connection, queries_of
from usergroups.api.throttling import COSTLY_CALLS, Deadline

pytestmark = pytest.mark.django_db


@pytest.fixture
def bookmarks(user_group):
    """Create 26 bookmarks of ``user_group``, four in no collection and the
    others in eight, of which one is empty.
    """
    now = timezone.now()
    collections = [None, *(CollectionFactory(user_group=user_group) for _ in range(8))]
    for collection, size in zip(collections, (4, 1, 1, 0, 9, 2, 1, 3, 5), strict=True):
        for number in range(size):
            # the same time for some of them
            created_at = now - timedelta(seconds=number // 2 % 2)
            BookmarkFactory(
                user_group=user_group, collection=collection, created_at=created_at
            )
    of_another_group = CollectionFactory()
    BookmarkFactory(user_group=of_another_group.user_group, collection=of_another_group)


@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 5, 100])
def test_pages_of_any_size_have_the_order_of_one_query(
    user_group, bookmarks, page_size, monkeypatch
):
    monkeypatch.setattr(exports, "PAGE_SIZE", page_size)
    monkeypatch.setattr(exports, "MAX_COLLECTIONS", 3)

    items = list(load(user_group))

    read = [item for item in items if isinstance(item, Bookmark)]
    rows = Bookmark.objects.filter(user_group=user_group).select_related("collection")
    expected = rows.order_by(
        F("collection_id").asc(nulls_first=True), "created_at", "pk"
    )
    assert len(read) == 26
    assert [(row.pk, row.collection) for row in read] == [
        (row.pk, row.collection) for row in expected
    ]
    # The empty collection comes in place of its bookmarks.
    [(position, empty)] = [
        (n, item) for n, item in enumerate(items) if isinstance(item, Collection)
    ]
    assert not empty.bookmarks.exists()
    assert (
        items[position - 1].collection.pk < empty.pk < items[position + 1].collection.pk
    )


def test_collections_are_read_in_the_order_of_their_creation(user_group):

    def create_collection(days):
        moment = timezone.now() - timedelta(days=days)
        return CollectionFactory(user_group=user_group, created_at=moment)

    middle = create_collection(days=2)
    oldest = create_collection(days=3)
    newest = create_collection(days=1)
    in_newest = BookmarkFactory(user_group=user_group, collection=newest)
    in_middle = BookmarkFactory(user_group=user_group, collection=middle)

    assert list(load(user_group)) == [oldest, in_middle, in_newest]


def test_collections_take_a_query_for_each_page_of_bookmarks(user_group, monkeypatch):
    monkeypatch.setattr(exports, "PAGE_SIZE", 4)
    monkeypatch.setattr(exports, "MAX_COLLECTIONS", 3)
    for size in (0, 1, 0, 0, 5):
        collection = CollectionFactory(user_group=user_group)
        BookmarkFactory.create_batch(size, user_group=user_group, collection=collection)

    statements = queries_of(lambda: list(load(user_group)))

    in_no_collection = 1
    of_first_three = len(["collections", "first", "second", "third"])
    of_last_two = len(["collections", "fourth", *["last"] * 2])
    assert len(statements) == in_no_collection + of_first_three + of_last_two


@pytest.mark.parametrize("page_size", [2, 100])
def test_an_empty_collection_is_read(user_group, page_size, monkeypatch):
    monkeypatch.setattr(exports, "PAGE_SIZE", page_size)
    empty = CollectionFactory(user_group=user_group)

    assert list(load(user_group)) == list(load(user_group, empty)) == [empty]


@pytest.mark.parametrize("page_size", [2, 100])
def test_one_collection_is_read(user_group, bookmarks, page_size, monkeypatch):
    monkeypatch.setattr(exports, "PAGE_SIZE", page_size)
    # has nine bookmarks
    collection = Collection.objects.filter(user_group=user_group).order_by("pk")[3]

    read = list(load(user_group, collection))

    assert read == list(collection.bookmarks.order_by("created_at", "pk"))
    assert {row.collection for row in read} == {collection}


class OnceRouter:
    """A database router that fails if it is called twice, since it could
    return different databases.
    """

    was_called = False

    def db_for_read(self, model, **hints):
        assert not self.was_called
        self.was_called = True
        return "default"


def test_all_pages_come_from_one_database(user_group, bookmarks, monkeypatch):
    monkeypatch.setattr(exports, "PAGE_SIZE", 2)

    with override_settings(DATABASE_ROUTERS=[OnceRouter()]):
        # 26 bookmarks and the empty collection
        assert len(list(load(user_group))) == 27


@pytest.mark.django_db(transaction=True)
def test_reading_does_not_end_a_transaction_of_the_caller(user_group):
    transaction.set_autocommit(False)
    try:
        BookmarkFactory(user_group=user_group)
        assert len(list(load(user_group))) == 1
        transaction.commit()
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)

    assert Bookmark.objects.count() == 1


@pytest.mark.skipif(
    connection.vendor == "sqlite",
    reason="a database in memory has only one connection",
)
@pytest.mark.django_db(transaction=True)
def test_changes_during_an_export_have_no_effect(user_group, monkeypatch):
    monkeypatch.setattr(exports, "PAGE_SIZE", 1)
    bookmarks = BookmarkFactory.create_batch(3, user_group=user_group)
    export = load(user_group)

    found = [next(export)]  # begins to read
    on_another_connection(Bookmark.objects.filter(pk=bookmarks[1].pk).delete)
    found += export

    assert found == bookmarks
    assert Bookmark.objects.count() == 2


# GET /v1/export

TYPES = {
    "html": "text/html; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
}


@pytest.fixture
def receive(api_client, access_token):
    """Return a function that calls GET /v1/export."""

    def receive(method="GET", token=access_token, **query):
        url = reverse("bookmarks:export")
        return Caller(api_client, method, url, "Bearer", token)(query=query)

    return receive


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_a_file_is_returned(receive, user_group, bookmarks, name):
    response = receive(format=name)

    content = response.getvalue()
    assert content == b"".join(write(load(user_group), name))
    assert response.status_code == 200
    assert {
        header: response[header]
        for header in ("Content-Type", "Content-Disposition", "Cache-Control")
    } == {
        "Content-Type": TYPES[name],
        "Content-Disposition": f'attachment; filename="bookmarks.{name}"',
        "Cache-Control": "no-store",
    }
    assert response["RateLimit"].startswith('"token";r=')


def test_one_collection_is_exported(receive, user_group, bookmarks):
    # has nine bookmarks
    collection = Collection.objects.filter(user_group=user_group).order_by("pk")[3]

    content = receive(collection=collection.pk).getvalue()

    # the default format
    assert content == b"".join(write(load(user_group, collection), "jsonl"))


def test_an_empty_collection_stands_for_the_bookmarks_in_no_collection(
    receive, user_group, bookmarks
):
    lines = receive(collection="").getvalue().decode().splitlines()

    outside = Bookmark.objects.filter(user_group=user_group, collection=None)
    assert len(lines) == 4
    assert [json.loads(line)["url"] for line in lines] == [
        bookmark.url for bookmark in outside.order_by("created_at", "pk")
    ]


@pytest.mark.parametrize(
    ("query", "attr", "code"),
    [
        ({"format": "xml"}, "format", "invalid_choice"),
        ({"format": ""}, "format", "invalid_choice"),
        ({"format": "json"}, "format", "invalid_choice"),  # a format of imports only
        ({"collection": "x"}, "collection", "does_not_exist"),
    ],
)
def test_an_invalid_query_is_refused(receive, query, attr, code):
    assert errors(receive(**query)) == [(attr, code)]


def test_head_has_the_headers_of_get(receive, bookmarks):
    head = receive("HEAD")
    with closing(receive()) as get:
        for name in ("Content-Type", "Content-Disposition"):
            assert head[name] == get[name]
    assert (head.status_code, head.getvalue()) == (200, b"")


def lines_of(content):
    return [json.loads(line) for line in b"".join(content).splitlines()]


@pytest.mark.parametrize("in_collection", [True, False])
def test_an_export_that_takes_too_long_can_be_continued(
    user_group, bookmarks, in_collection
):
    """As the loop in docs/files.md does, as long as there are new dates."""
    rows = Bookmark.objects.filter(user_group=user_group)
    for number, row in enumerate(rows):
        row.created_at += timedelta(minutes=number // 3)
        row.save()
    filters = {}
    if in_collection:
        collections = Collection.objects.filter(user_group=user_group)
        filters["collection"] = collections.order_by("pk")[3]
    since = exports.EARLIEST
    found = []
    for _ in range(26):
        deadline = Deadline(8, Clock())
        with closing(
            Download(user_group, "jsonl", deadline, created_since=since, **filters)
        ) as download:
            *lines, last = lines_of(download)
        found += lines
        if last["url"]:
            found.append(last)
            break
        assert last["title"] == exports.NOT_COMPLETE
        since = parse_datetime(last["created_at"])

    rows = (
        rows.filter(**filters).select_related("collection").order_by("created_at", "pk")
    )
    expected = [(row.url, row.collection and row.collection.name) for row in rows]
    # Those with the date at which an export ends are in the next one, too.
    distinct = dict.fromkeys((line["url"], line["collection"]) for line in found)
    assert list(distinct) == expected


def test_an_export_by_collection_is_continued_from_the_earliest_date(
    user_group, bookmarks
):
    with closing(Download(user_group, "jsonl", Deadline(5, Clock()))) as download:
        *lines, last = lines_of(download)

    assert len(lines) == 3
    assert (last["url"], last["created_at"]) == ("", "0001-01-01T00:00:00.000000Z")


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_an_import_refuses_the_last_record_of_an_incomplete_export(
    user_group, bookmarks, name
):
    with closing(Download(user_group, name, Deadline(5, Clock()))) as download:
        *_, last = read(io.BytesIO(b"".join(download)), name)

    assert (last.reason, last.title) == ("The entry has no URL.", exports.NOT_COMPLETE)


def test_only_the_bookmarks_since_a_time_are_exported(receive, user_group, bookmarks):
    now = timezone.now()
    new = BookmarkFactory(user_group=user_group, created_at=now)

    lines = lines_of(receive(created_since=now.isoformat()))

    assert [line["url"] for line in lines] == [new.url]
    assert errors(receive(created_since="x")) == [("created_since", "invalid")]


def test_bookmarks_by_date_take_two_queries_for_each_page(
    user_group, bookmarks, monkeypatch
):
    monkeypatch.setattr(exports, "PAGE_SIZE", 13)

    statements = queries_of(
        lambda: list(load(user_group, created_since=exports.EARLIEST))
    )

    # The bookmarks and their collections, and no third page.
    assert len(statements) == 2 * 2 + 1


def test_a_database_failure_in_the_middle_of_an_export_ends_it(
    receive, bookmarks, monkeypatch, caplog
):
    def fail(*args, **options):
        yield from list(load(*args, **options))[:2]
        raise OperationalError("gone")

    monkeypatch.setattr(exports, "load", fail)

    *lines, last = lines_of(receive())

    assert len(lines) == 2
    assert (last["url"], last["title"]) == ("", exports.NOT_COMPLETE)
    assert "gone" in caplog.text


def test_a_database_failure_at_the_beginning_of_an_export_is_a_503(
    receive, monkeypatch
):
    def fail(*args, **options):
        raise OperationalError("gone")
        yield

    monkeypatch.setattr(exports, "load", fail)

    assert error_code(receive(), 503) == "service_unavailable"


@pytest.mark.django_db(transaction=True)
def test_an_export_that_cannot_begin_in_time_closes_its_transaction(
    receive, bookmarks, settings, caplog
):
    """The log keeps the exception, and with it the variables of the view."""
    settings.USERGROUPS_CALL_TIME_LIMIT = 0

    response = receive()

    assert error_code(response, 503) == "time_limit_exceeded"
    assert response["Retry-After"] == "60"
    assert [record.exc_info[0] for record in caplog.records if record.exc_info]
    assert_no_transaction()


def assert_no_transaction():
    with transaction.atomic():  # fails in an open transaction that Django has not begun
        BookmarkFactory()
    if connection.vendor == "postgresql":
        assert connection.connection.info.transaction_status == 0  # idle


@pytest.mark.django_db(transaction=True)
def test_an_export_that_a_client_leaves_closes_its_transaction(
    receive, bookmarks, monkeypatch
):
    monkeypatch.setattr(exports, "PAGE_SIZE", 1)

    receive().close()

    assert_no_transaction()


@pytest.mark.skipif(connection.vendor == "sqlite", reason="has no such timeout")
@pytest.mark.django_db(transaction=True)
def test_postgresql_ends_the_transaction_of_a_client_that_does_not_read(
    user_group, bookmarks
):
    with closing(load(user_group, max_idle=60)) as items:
        next(items)
        with connection.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            assert cursor.fetchone() == ("1min",)


def test_concurrent_exports_are_limited_until_they_are_closed(receive, user_group):
    with ExitStack() as calls_in_progress:
        for _ in range(COSTLY_CALLS.per_owner - 1):
            begin_call(calls_in_progress, COSTLY_CALLS, user_group.team_id)
        response = receive()
        assert error_code(receive(), 429) == "throttled"
        response.getvalue()  # closes it at its end
        assert receive().getvalue() == b""
