"""Deletion of objects with many dependants, which are hidden at once and deleted in chunks."""

import threading
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from bookmarks.files.exporting import load
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory, CollectionFactory
from tests.queries import queries_of, row_locked
from usergroups import deletion
from usergroups.models import Team, UserGroup

URL = "https://example.com/"


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(deletion, "CHUNK_SIZE", 5)


def wait_for_the_thread():
    for thread in threading.enumerate():
        if thread.name == "finish_deletions":
            thread.join(timeout=60)


def finish():
    call_command("finish_deletions")


@pytest.fixture
def large_collection(user_group):
    collection = CollectionFactory(user_group=user_group, name="Large")
    BookmarkFactory.create_batch(12, user_group=user_group, collection=collection)
    return collection


def listed(call_bookmarks, **query):
    return call_bookmarks("GET", "bookmarks", query=query).json()["bookmarks"]


def test_a_deleted_large_collection_disappears_at_once(call_bookmarks, large_collection):
    response = call_bookmarks("DELETE", "collection", large_collection.pk)

    assert (response.status_code, response.json()) == (200, {"success": 1})
    assert Bookmark.objects.filter(collection=large_collection).exists()
    assert call_bookmarks("GET", "collection", large_collection.pk).status_code == 404
    assert call_bookmarks("DELETE", "collection", large_collection.pk).status_code == 404
    assert call_bookmarks("GET", "collections").json()["collections"] == []
    assert call_bookmarks("GET", "bookmarks", query={"collection": large_collection.pk}).status_code == 400
    assert call_bookmarks("POST", "collections", body={"name": "Large"}).status_code == 201


def test_bookmarks_of_a_deleted_large_collection_are_in_no_collection_at_once(call_bookmarks, large_collection):
    call_bookmarks("DELETE", "collection", large_collection.pk)

    in_none = listed(call_bookmarks, collection="")
    assert len(in_none) == 12
    assert {bookmark["collection"] for bookmark in in_none} == {None}
    one = Bookmark.objects.filter(collection=large_collection).first()
    assert call_bookmarks("GET", "bookmark", one.pk).json()["bookmark"]["collection"] is None
    titled = call_bookmarks("PATCH", "bookmark", one.pk, body={"title": "New"}).json()["bookmark"]
    assert (titled["title"], titled["collection"]) == ("New", None)


def test_bookmarks_of_a_deleted_large_collection_are_released_in_chunks(call_bookmarks, large_collection):
    kept = set(Bookmark.objects.values_list("pk", flat=True))
    call_bookmarks("DELETE", "collection", large_collection.pk)

    updates = [sql for sql in queries_of(finish) if sql.startswith("UPDATE")]

    assert set(Bookmark.objects.filter(collection=None).values_list("pk", flat=True)) == kept
    assert len(updates) == 2  # after the first chunk, which the call itself released
    assert not Collection._base_manager.exists()


@pytest.mark.parametrize("age", [timedelta(days=1), -timedelta(seconds=1)], ids=["older", "newer"])
def test_the_oldest_of_duplicates_is_kept(call_bookmarks, large_collection, user_group, age):
    Bookmark.objects.update(created_at=timezone.now() - timedelta(hours=1))
    inside = Bookmark.objects.filter(collection=large_collection).last()
    outside = BookmarkFactory(user_group=user_group, url=inside.url, created_at=inside.created_at - age)

    call_bookmarks("DELETE", "collection", large_collection.pk)
    finish()

    kept = Bookmark.objects.get(url=inside.url)
    assert kept == min(inside, outside, key=lambda bookmark: bookmark.created_at)
    assert kept.collection is None


def test_a_bookmark_that_is_created_after_the_deletion_is_kept(call_bookmarks, large_collection):
    call_bookmarks("DELETE", "collection", large_collection.pk)
    url = Bookmark.objects.filter(collection=large_collection).last().url

    created = call_bookmarks("POST", "bookmarks", body={"url": url})
    finish()

    assert created.status_code == 201
    assert str(Bookmark.objects.get(url=url).pk) == created.json()["bookmark"]["id"]


def test_several_collections_release_the_oldest_of_their_duplicates(user_group):
    collections = CollectionFactory.create_batch(3, user_group=user_group)
    now = timezone.now()
    for age, collection in enumerate(collections):
        for number in range(4):
            BookmarkFactory(
                user_group=user_group, collection=collection, url=f"{URL}{number}", created_at=now - timedelta(days=age)
            )

    Collection.objects.all().delete()
    finish()

    assert {bookmark.created_at for bookmark in Bookmark.objects.all()} == {now - timedelta(days=2)}
    assert sorted(Bookmark.objects.values_list("url", flat=True)) == [f"{URL}{number}" for number in range(4)]


def test_an_export_lists_bookmarks_of_a_deleted_collection_without_it(large_collection, user_group):
    Collection.objects.all().delete()

    exported = list(load(user_group))

    assert [bookmark.collection for bookmark in exported] == [None] * 12


@pytest.fixture
def large_group(user_group, large_collection):
    AccessTokenFactory.create_batch(3, user_group=user_group)
    return user_group


def test_a_deleted_large_user_group_disappears_at_once(call_usergroups, call_bookmarks, large_group):
    query = {"user_group_id": large_group.provided_id}

    response = call_usergroups("DELETE", "user", query=query)

    assert (response.status_code, response.json()) == (200, {"success": 1})
    assert call_usergroups("GET", "user", query=query).status_code == 404
    assert call_usergroups("DELETE", "user", query=query).status_code == 404
    assert call_usergroups("GET", "users").json()["user_groups"] == []
    assert call_bookmarks("GET", "bookmarks").status_code == 401
    assert call_usergroups("POST", "user", query).status_code == 201
    finish()
    assert [model.objects.count() for model in (AccessToken, Collection, Bookmark)] == [0, 0, 0]
    assert UserGroup._base_manager.count() == 1


@pytest.mark.parametrize("hidden", ["user_group", "team"])
def test_tokens_of_a_deleted_owner_are_refused(call_usergroups, call_bookmarks, user_group, hidden):
    owner = {"user_group": user_group, "team": user_group.team}[hidden]
    type(owner)._base_manager.filter(pk=owner.pk).update(deleted_at=timezone.now())

    assert call_bookmarks("GET", "bookmarks").status_code == 401
    assert call_usergroups("GET", "users").status_code == {"user_group": 200, "team": 401}[hidden]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="a database in memory cannot be shared with a thread")
def test_a_new_process_continues_a_deletion(large_group):
    Team.objects.update(deleted_at=timezone.now())

    deletion.resume_deletions()
    wait_for_the_thread()

    assert not Bookmark.objects.exists()
    assert not Team._base_manager.exists()


def test_a_manager_has_no_delete_method(user_group):
    with pytest.raises(AttributeError):
        UserGroup.objects.delete()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite locks no rows")
def test_a_deletion_by_another_process_is_skipped(large_collection):
    Collection._base_manager.update(deleted_at=timezone.now())

    with row_locked(Collection._base_manager.get()):
        finish()
        assert Bookmark.objects.filter(collection=large_collection).count() == 12
    finish()

    assert Bookmark.objects.filter(collection=None).count() == 12


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="a database in memory cannot be shared with a thread")
def test_a_thread_finishes_the_deletion(call_bookmarks, large_collection):
    call_bookmarks("DELETE", "collection", large_collection.pk)

    wait_for_the_thread()

    assert not Collection._base_manager.exists()
    assert Bookmark.objects.filter(collection=None).count() == 12
