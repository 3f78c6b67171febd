"""Exports read pages, and a file appears only when it is complete."""

import os
import stat
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.db.models import F
from django.test import override_settings
from django.utils import timezone

from bookmarks.files import exporting
from bookmarks.management.commands import export_bookmarks
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.queries import on_another_connection
from tests.usergroups.factories import UserGroupFactory

pytestmark = pytest.mark.django_db

GROUP = ["--team", "Acme", "--user-group", "example_1"]


@pytest.fixture
def user_group():
    return UserGroupFactory(team__name="Acme", provided_id="example_1")


@pytest.fixture
def bookmarks(user_group):
    """Bookmarks of equal and of different times, in collections of 0 to 9."""
    now = timezone.now()
    collections = [None, *(CollectionFactory(user_group=user_group) for _ in range(8))]
    for collection, size in zip(collections, (4, 1, 1, 0, 9, 2, 1, 3, 5), strict=True):
        for number in range(size):
            BookmarkFactory(
                user_group=user_group, collection=collection, created_at=now - timedelta(seconds=number // 2 % 2)
            )
    other = CollectionFactory()
    BookmarkFactory(user_group=other.user_group, collection=other)


@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 5, 100])
def test_pages_have_the_order_of_one_statement(user_group, bookmarks, page_size, monkeypatch):
    monkeypatch.setattr(exporting, "PAGE_SIZE", page_size)

    items = list(exporting.load(user_group))

    read = [item for item in items if isinstance(item, Bookmark)]
    rows = Bookmark.objects.filter(user_group=user_group).select_related("collection")
    expected = rows.order_by(F("collection_id").asc(nulls_first=True), "created_at", "pk")
    assert len(read) == 26
    assert [(row.pk, row.collection) for row in read] == [(row.pk, row.collection) for row in expected]
    [(position, empty)] = [(n, item) for n, item in enumerate(items) if isinstance(item, Collection)]
    assert not empty.bookmarks.exists()
    assert items[position - 1].collection.pk < empty.pk < items[position + 1].collection.pk


@pytest.mark.parametrize("page_size", [2, 100])
def test_an_empty_collection_is_read(user_group, page_size, monkeypatch):
    monkeypatch.setattr(exporting, "PAGE_SIZE", page_size)
    empty = CollectionFactory(user_group=user_group)

    assert list(exporting.load(user_group)) == list(exporting.load(user_group, empty)) == [empty]
    assert list(exporting.load(user_group, empty, Bookmark.objects.all())) == []


@pytest.mark.parametrize("page_size", [2, 100])
def test_one_collection_is_read(user_group, bookmarks, page_size, monkeypatch):
    monkeypatch.setattr(exporting, "PAGE_SIZE", page_size)
    collection = Collection.objects.filter(user_group=user_group).order_by("pk")[3]

    read = list(exporting.load(user_group, collection))

    assert read == list(collection.bookmarks.order_by("created_at", "pk"))
    assert {row.collection for row in read} == {collection}


class OnceRouter:
    """A router that may give another database to each query."""

    asked = 0

    def db_for_read(self, model, **hints):
        assert self.asked < 1
        self.asked += 1
        return "default"


def test_all_pages_come_from_one_database(user_group, bookmarks, monkeypatch):
    monkeypatch.setattr(exporting, "PAGE_SIZE", 2)

    with override_settings(DATABASE_ROUTERS=[OnceRouter()]):
        assert len(list(exporting.load(user_group))) == 27


@pytest.mark.django_db(transaction=True)
def test_a_transaction_of_the_caller_is_kept(user_group):
    transaction.set_autocommit(False)
    try:
        BookmarkFactory(user_group=user_group)
        assert len(list(exporting.load(user_group))) == 1
        transaction.commit()
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)

    assert Bookmark.objects.count() == 1


@pytest.mark.skipif(connection.vendor == "sqlite", reason="a database in memory has only one connection")
@pytest.mark.django_db(transaction=True)
def test_changes_during_an_export_have_no_effect(user_group, monkeypatch):
    monkeypatch.setattr(exporting, "PAGE_SIZE", 1)
    bookmarks = BookmarkFactory.create_batch(3, user_group=user_group)
    export = exporting.load(user_group)

    found = [next(export)]
    on_another_connection(Bookmark.objects.filter(pk=bookmarks[1].pk).delete)
    found += export

    assert found == bookmarks
    assert Bookmark.objects.count() == 2


@pytest.fixture
def fail_after_a_page(user_group, bookmarks, monkeypatch):
    """Return a function that lets an export raise an exception after some bookmarks."""

    def fail(error):
        def load(*args):
            yield from list(exporting.load(*args))[:5]
            raise error

        monkeypatch.setattr(export_bookmarks, "load", load)

    return fail


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OperationalError("the server closed the connection.\nDETAIL"),
            r"^The database failed: the server closed the connection\. The export is not complete\.$",
        ),
        (KeyboardInterrupt(), r"^Interrupted\. The export is not complete\.$"),
        (OSError(28, "No space left on device"), r"\.csv: No space left on device\. The export is not complete\.$"),
    ],
    ids=["database", "interrupt", "disk"],
)
def test_a_failed_export_leaves_the_folder_as_it_was(fail_after_a_page, tmp_path, error, message):
    fail_after_a_page(error)
    old = tmp_path / "a.csv"
    old.write_text("old")

    for name in ("a.csv", "new.csv"):
        with pytest.raises(CommandError, match=message) as raised:
            call_command("export_bookmarks", str(tmp_path / name), *GROUP)
        assert raised.value.returncode == (130 if isinstance(error, KeyboardInterrupt) else 1)
        assert "\n" not in str(raised.value)

    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "old"


@pytest.mark.parametrize("old_mode", [None, 0o600, 0o664])
def test_the_mode_follows_the_umask_or_the_existing_file(user_group, tmp_path, old_mode):
    file = tmp_path / "a.csv"
    if old_mode is not None:
        file.touch()
        file.chmod(old_mode)
    umask = os.umask(0o027)
    try:
        call_command("export_bookmarks", str(file), *GROUP)
    finally:
        os.umask(umask)

    assert stat.S_IMODE(file.stat().st_mode) == (0o640 if old_mode is None else old_mode)
