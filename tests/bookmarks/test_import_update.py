"""An import with ``update`` repairs the titles and the dates of existing bookmarks."""

from datetime import UTC, datetime

import pytest
from django.db import connection

from bookmarks.files import importing
from bookmarks.files.records import CollectionRecord, Record
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import imported
from tests.queries import deadlock, queries_of
from tests.signals import expected, recorded
from tests.usergroups.factories import UserGroupFactory

URL = "https://example.com/"
OLD, NEW = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)


def update(user_group, *records, collection=None):
    return imported(user_group, records, collection, update=True)


@pytest.fixture
def bookmark(user_group):
    return BookmarkFactory(user_group=user_group, url=URL, title="Old", created_at=OLD, updated_at=OLD)


@pytest.mark.parametrize(
    ("title", "date", "stored"),
    [
        ("New", None, ("New", OLD)),
        ("", NEW, ("Old", NEW)),
        ("New", NEW, ("New", NEW)),
        ("Old", "nonsense", None),
        (None, 0, None),
        ("Old", OLD, None),
    ],
)
def test_titles_and_dates_are_repaired_where_the_file_has_them(user_group, bookmark, title, date, stored):
    other = BookmarkFactory(url=URL, title="Other", created_at=OLD, updated_at=OLD)

    report = update(user_group, Record(1, "HTTPS://EXAMPLE.com", title, None, date))

    assert (report.created, report.updated, report.existing) == (0, int(stored is not None), int(stored is None))
    bookmark.refresh_from_db()
    other.refresh_from_db()
    assert (bookmark.title, bookmark.created_at) == (stored or ("Old", OLD))
    assert (bookmark.updated_at > OLD) == (stored is not None)
    assert (bookmark.url, other.title) == (URL, "Other")


def test_without_update_nothing_is_repaired(user_group, bookmark):
    report = imported(user_group, [Record(1, URL, "New", None, NEW)])

    assert (report.updated, report.existing) == (0, 1)
    bookmark.refresh_from_db()
    assert (bookmark.title, bookmark.created_at, bookmark.updated_at) == ("Old", OLD, OLD)


def test_a_bookmark_is_repaired_in_its_collection_only(user_group, bookmark):
    one, two = CollectionFactory.create_batch(2, user_group=user_group)
    for collection in (one, two):
        BookmarkFactory(user_group=user_group, url=URL, collection=collection, title="Old")

    update(user_group, Record(1, URL, "By name", one.name))
    update(user_group, Record(1, URL, "Given"), collection=two)

    titles = Bookmark.objects.order_by("pk").values_list("title", flat=True)
    assert list(titles) == ["Old", "By name", "Given"]


def test_new_bookmarks_are_created_meanwhile(user_group, bookmark):
    report = update(user_group, Record(1, f"{URL}new", "A", "New"), Record(2, URL, "B"), CollectionRecord(3, "Empty"))

    assert (report.created, report.updated, report.existing) == (1, 1, 0)
    assert set(Bookmark.objects.values_list("title", "collection__name")) == {("A", "New"), ("B", None)}
    assert Collection.objects.filter(name="Empty").exists()


@pytest.mark.parametrize("chunk_size", [1, 2, 500])
@pytest.mark.parametrize("exists", [True, False])
def test_the_last_title_and_date_in_a_file_are_stored(user_group, monkeypatch, chunk_size, exists):
    monkeypatch.setattr(importing, "ROWS_PER_TRANSACTION", chunk_size)
    if exists:
        BookmarkFactory(user_group=user_group, url=URL)
    records = [Record(1, URL, "First", None, OLD), Record(2, URL, "Last"), Record(3, URL, "", None, NEW)]

    report = update(user_group, *records)

    assert report.created + report.updated + report.existing == 3
    [stored] = Bookmark.objects.all()
    assert (stored.title, stored.created_at) == ("Last", NEW)


def test_an_update_is_announced(user_group, bookmark):
    dated = BookmarkFactory(user_group=user_group, url=f"{URL}dated", title="Same", created_at=OLD)
    BookmarkFactory(user_group=user_group, url=f"{URL}same", title="Same", created_at=OLD)

    with recorded() as sent:
        update(
            user_group,
            Record(1, URL, "New", None, NEW),
            Record(2, f"{URL}same", "Same", None, OLD),
            Record(3, dated.url, "", None, NEW),
        )

    assert sent == [expected("updated", bookmark, fields={"title"})]
    assert sent[0][2]["instances"][0].title == "New"


@pytest.mark.parametrize("different", [0, 3])
def test_an_update_takes_few_statements(user_group, different):
    BookmarkFactory.create_batch(5, user_group=user_group, title="Old")
    urls = Bookmark.objects.order_by("pk").values_list("url", flat=True)
    records = [Record(n, url, "New" if n < different else "Old") for n, url in enumerate(urls)]

    queries = queries_of(lambda: update(user_group, *records))

    kinds = [sql.split()[0] for sql in queries if "bookmarks_bookmark" in sql]
    # Insert those that are missing, look up the others, lock those that differ, and write them.
    assert kinds == ["INSERT", "SELECT", *(["SELECT", "UPDATE"] if different else [])]


def test_a_bookmark_that_is_moved_meanwhile_is_not_changed(user_group, bookmark):
    def wrapper(execute, sql, params, many, context):
        if "FOR UPDATE" in sql and "bookmarks_bookmark" in sql:
            Bookmark.objects.change(str(bookmark.pk), url=f"{URL}elsewhere")
        return execute(sql, params, many, context)

    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    with connection.execute_wrapper(wrapper):
        report = update(user_group, Record(1, URL, "New"))

    assert (report.created, report.updated, report.existing) == (0, 0, 1)
    bookmark.refresh_from_db()
    assert (bookmark.url, bookmark.title) == (f"{URL}elsewhere", "Old")


@pytest.mark.django_db(transaction=True)
def test_a_deadlock_with_an_update_is_retried():
    user_group = UserGroupFactory()
    first, last = (BookmarkFactory(user_group=user_group, title="Old") for _ in range(2))

    def lock_first(using):
        list(Bookmark.objects.using(using).filter(pk=first.pk).select_for_update())

    locked = Bookmark.objects.filter(pk=last.pk).select_for_update()
    with deadlock('SELECT "bookmarks_bookmark"', locked, lock_first, ending="FOR UPDATE"):
        report = update(user_group, Record(1, first.url, "New"), Record(2, last.url, "New"))

    assert report.updated == 2
    assert set(Bookmark.objects.values_list("title", flat=True)) == {"New"}
