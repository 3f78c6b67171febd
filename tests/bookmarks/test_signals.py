"""The signals about bookmarks, collections and access tokens."""

import pickle
from copy import copy
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.urls import reverse

from bookmarks.files.records import Record
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.bookmarks.imports import chunks_of_two  # noqa: F401
from tests.bookmarks.imports import imported as store
from tests.conftest import Caller
from tests.queries import ON_CITUS, concurrently, deadlock, queries_of
from tests.signals import expected, received, recorded
from tests.usergroups.factories import UserGroupFactory

pytestmark = pytest.mark.django_db

URL = "https://example.com/"


# Bookmarks


def test_a_created_bookmark_is_announced(create_bookmark, collection, access_token):
    with recorded() as sent:
        create_bookmark({"url": URL, "collection": str(collection.pk)})

    assert sent == [expected("created", Bookmark.objects.get(), actor=access_token)]
    [bookmark] = sent[0][2]["instances"]
    assert (bookmark.url, bookmark.collection) == (URL, collection)


def test_an_existing_bookmark_is_not_announced(create_bookmark, user_group):
    BookmarkFactory(user_group=user_group, url=URL)

    with recorded() as sent:
        response = create_bookmark({"url": URL, "title": "New"})

    assert response.status_code == 200
    assert sent == []


@pytest.mark.django_db(transaction=True)
def test_a_bookmark_that_another_transaction_created_is_not_announced(create_bookmark, user_group):
    bookmark = BookmarkFactory.build(user_group=user_group, url=URL)
    insert = (
        "INSERT INTO bookmarks_bookmark (id, user_group_id, url, url_digest, title, created_at, updated_at) "
        f"VALUES ('{bookmark.pk}', {user_group.pk}, '{URL}', '\\x{bookmark.unique_key[1].hex()}', '', now(), now())"
    )

    with received() as sent, concurrently("INSERT", insert):
        response = create_bookmark({"url": URL})

    assert (response.status_code, response.json()["bookmark"]["id"]) == (200, str(bookmark.pk))
    assert sent == []


@pytest.mark.django_db(transaction=True)
def test_a_bookmark_that_is_retried_after_a_deadlock_is_announced_once(create_bookmark, collection, access_token):
    same = Bookmark(user_group=collection.user_group, collection=collection, url=URL)

    with (
        received() as sent,
        deadlock(
            "INSERT",
            locked=Collection.objects.select_for_update().filter(pk=collection.pk),
            wait=lambda alias: same.save(using=alias, force_insert=True),
        ) as attempts,
    ):
        create_bookmark({"url": URL, "collection": str(collection.pk)})

    assert len(attempts) == 2
    assert sent == [expected("created", Bookmark.objects.get(), actor=access_token)]


@pytest.mark.parametrize(
    ("body", "fields"),
    [({"title": "New"}, {"title"}), ({"url": URL, "collection": None}, {"url", "collection"})],
    ids=["title", "url"],
)
def test_an_updated_bookmark_is_announced_with_the_written_fields(
    call_bookmarks, user_group, access_token, body, fields
):
    bookmark = BookmarkFactory(user_group=user_group)

    with recorded() as sent:
        call_bookmarks("PATCH", "bookmark", bookmark.pk, body=body)

    assert sent == [expected("updated", bookmark, actor=access_token, fields=fields)]
    [updated] = sent[0][2]["instances"]
    assert updated.updated_at > bookmark.updated_at


def test_an_empty_update_is_not_announced(call_bookmarks, user_group):
    bookmark = BookmarkFactory(user_group=user_group)

    with recorded() as sent:
        response = call_bookmarks("PATCH", "bookmark", bookmark.pk, body={})

    assert response.status_code == 200
    assert sent == []


def test_a_refused_duplicate_is_not_announced(call_bookmarks, user_group):
    bookmark, other = BookmarkFactory.create_batch(2, user_group=user_group)

    with recorded() as sent:
        response = call_bookmarks("PATCH", "bookmark", bookmark.pk, body={"url": other.url})

    assert response.status_code == 409
    assert sent == []


def test_a_deleted_bookmark_is_announced_with_its_values(call_bookmarks, user_group, access_token):
    bookmark = BookmarkFactory(user_group=user_group, url=URL)

    with recorded() as sent:
        call_bookmarks("DELETE", "bookmark", bookmark.pk)

    assert sent == [expected("deleted", bookmark, actor=access_token)]
    assert sent[0][2]["instances"][0].url == URL


def test_deletions_of_instances_and_querysets_are_announced(user_group):
    first, second, third = BookmarkFactory.create_batch(3, user_group=user_group)

    expected_signals = [expected("deleted", copy(first)), expected("deleted", second, third)]

    with recorded() as sent:
        first.delete()
        Bookmark.objects.all().delete()

    assert sent == expected_signals


@pytest.mark.skipif(ON_CITUS, reason="Citus refuses the SQL by which the test deletes an unlocked row")
@pytest.mark.django_db(transaction=True)
def test_a_bookmark_that_another_transaction_deletes_is_not_announced(user_group):
    BookmarkFactory.create_batch(2, user_group=user_group)
    unlocked = "SELECT id FROM bookmarks_bookmark LIMIT 1 FOR UPDATE SKIP LOCKED"

    with received() as sent, concurrently("DELETE", f"DELETE FROM bookmarks_bookmark WHERE id IN ({unlocked})"):
        deleted, _ = Bookmark.objects.all().delete()

    assert [len(arguments["instances"]) for _, _, arguments in sent] == [deleted]


# Batches


def test_a_batch_announces_the_created_bookmarks_at_once(call_bookmarks, user_group, access_token):
    existing = BookmarkFactory(user_group=user_group)
    items = [{"url": url} for url in (URL, f"{URL}2", URL, existing.url, "no URL")]

    with recorded() as sent:
        call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": items})

    new = Bookmark.objects.exclude(pk=existing.pk).order_by("pk")
    [(name, sender, arguments)] = sent
    in_order = {**arguments, "instances": sorted(arguments["instances"], key=lambda each: each.pk)}
    assert (name, sender, in_order) == expected("created", *new, actor=access_token)


def test_a_batch_without_new_bookmarks_is_not_announced(call_bookmarks, user_group):
    existing = BookmarkFactory(user_group=user_group)

    with recorded() as sent:
        call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": [{"url": existing.url}]})
        call_bookmarks("POST", "bookmarks-batch-delete", body={"ids": ["x"]})
        call_bookmarks("POST", "bookmarks-batch-move", body={"ids": ["x"], "collection": None})

    assert sent == []


def test_a_batch_announces_the_deleted_bookmarks_at_once(call_bookmarks, user_group, access_token):
    first, second = BookmarkFactory.create_batch(2, user_group=user_group)
    ids = [str(first.pk), str(second.pk), str(BookmarkFactory().pk), "x"]

    with recorded() as sent:
        call_bookmarks("POST", "bookmarks-batch-delete", body={"ids": ids})

    assert sent == [expected("deleted", first, second, actor=access_token)]


def test_moved_bookmarks_are_announced_with_their_collection(call_bookmarks, user_group, collection, access_token):
    moved, duplicate = BookmarkFactory(user_group=user_group), BookmarkFactory(user_group=user_group, url=URL)
    BookmarkFactory(user_group=user_group, url=URL, collection=collection)
    ids = [str(moved.pk), str(duplicate.pk), "x"]

    with recorded() as sent:
        call_bookmarks("POST", "bookmarks-batch-move", body={"ids": ids, "collection": str(collection.pk)})

    assert sent == [expected("updated", moved, actor=access_token, fields={"collection"})]
    assert sent[0][2]["instances"][0].collection == collection


# Collections


def test_a_created_collection_is_announced(call_bookmarks, access_token):
    with recorded() as sent:
        call_bookmarks("POST", "collections", body={"name": "New"})

    assert sent == [expected("created", Collection.objects.get(), actor=access_token)]


def test_an_updated_collection_is_announced(call_bookmarks, collection, access_token):
    with recorded() as sent:
        call_bookmarks("PATCH", "collection", collection.pk, body={"name": "New"})

    assert sent == [expected("updated", collection, actor=access_token, fields={"name"})]


def test_a_deleted_collection_is_announced_before_its_bookmarks(call_bookmarks, collection, access_token):
    user_group = collection.user_group
    BookmarkFactory(user_group=user_group, url=URL)
    duplicate = BookmarkFactory(user_group=user_group, url=URL, collection=collection)
    kept = BookmarkFactory(user_group=user_group, collection=collection)

    with recorded() as sent:
        call_bookmarks("DELETE", "collection", collection.pk)

    assert sent == [
        expected("deleted", collection, actor=access_token),
        expected("deleted", duplicate, actor=access_token),
        expected("updated", kept, actor=access_token, fields={"collection"}),
    ]
    [[_], [old], [new]] = (arguments["instances"] for _, _, arguments in sent)
    assert (old.collection_id, new.collection_id) == (collection.pk, None)


def summary(sent):
    """Return the name, sender, number of instances and actor of each signal."""
    return [(name, sender, len(arguments["instances"]), arguments["actor"]) for name, sender, arguments in sent]


# Access tokens


@pytest.fixture
def call_access_tokens(client, api_token):
    """Return a function that calls the view with this URL name, with an API token of the team."""

    def call(method, url_name, *ids, body=b""):
        return Caller(client, method, reverse(f"access_tokens:{url_name}", args=ids), "Token", api_token)(body)

    return call


def test_an_issued_access_token_is_announced_with_the_api_token_as_the_actor(call_access_tokens, user_group, api_token):
    with recorded() as sent:
        call_access_tokens("POST", "access-tokens", body={"user_group_id": user_group.provided_id})

    assert sent == [expected("created", AccessToken.objects.get(), actor=api_token)]


def test_a_revoked_access_token_is_announced_once(call_access_tokens, user_group, api_token):
    token = AccessTokenFactory(user_group=user_group)

    with recorded() as sent:
        call_access_tokens("DELETE", "access-token", token.public_id)
        call_access_tokens("DELETE", "access-token", token.public_id)

    assert sent == [expected("revoked", token, actor=api_token)]


def test_no_argument_of_a_signal_contains_the_secret_of_a_token(call_access_tokens, user_group, api_token):
    with recorded() as sent:
        response = call_access_tokens("POST", "access-tokens", body={"user_group_id": user_group.provided_id})

    [(_, _, arguments)] = sent
    assert AccessToken.objects.authenticate(response.json()["access_token"]["secret"]) == arguments["instances"][0]
    for secret in (response.json()["access_token"]["secret"], api_token.secret):
        assert secret.encode() not in pickle.dumps(arguments)
        assert secret not in repr(sent)


# Imports


@pytest.mark.usefixtures("chunks_of_two")
def test_an_import_announces_each_chunk(user_group):
    records = [Record(number, f"{URL}{number}", "", "Folder") for number in range(3)]

    with recorded() as sent:
        store(user_group, records)

    first, second, third = Bookmark.objects.order_by("url")
    created, *chunks = sent
    assert created == expected("created", Collection.objects.get())
    assert {frozenset(each[2]["instances"]) for each in chunks} == {frozenset([first, second]), frozenset([third])}
    assert summary(chunks) == [("created", Bookmark, 2, None), ("created", Bookmark, 1, None)]
    assert {bookmark.collection.name for each in chunks for bookmark in each[2]["instances"]} == {"Folder"}


def test_an_import_announces_only_new_bookmarks(user_group):
    existing = BookmarkFactory(user_group=user_group)
    records = [Record(1, existing.url), Record(2, URL), Record(3, URL), Record(4, "no URL")]

    with recorded() as sent:
        store(user_group, records)

    assert sent == [expected("created", Bookmark.objects.exclude(pk=existing.pk).get())]


@pytest.mark.django_db(transaction=True)
def test_a_collection_that_another_transaction_created_during_an_import_is_not_announced(user_group):
    insert = (
        "INSERT INTO bookmarks_collection (id, user_group_id, name, created_at, updated_at) "
        f"VALUES ('{uuid4()}', {user_group.pk}, 'Folder', now(), now())"
    )

    with received() as sent, concurrently('INSERT INTO "bookmarks_collection"', insert):
        store(user_group, [Record(1, URL, "", "Folder")])

    assert sent == [expected("created", Bookmark.objects.get())]


@pytest.mark.parametrize(("dry_run", "number"), [(False, 1), (True, 0)])
def test_the_command_announces_an_import_unless_it_is_a_dry_run(user_group, tmp_path, dry_run, number):
    path = tmp_path / "bookmarks.csv"
    path.write_text(f"url\n{URL}\n")
    options = {"team": user_group.team.name, "user_group": user_group.provided_id, "dry_run": dry_run}

    with recorded() as sent:
        call_command("import_bookmarks", str(path), stdout=StringIO(), **options)

    assert summary(sent) == [("created", Bookmark, 1, None)] * number


def test_a_command_announces_what_it_creates(user_group):
    options = {"team": user_group.team.name, "user_group": user_group.provided_id}

    with recorded() as sent:
        call_command("create_access_token", **options, stdout=StringIO(), stderr=StringIO())

    assert sent == [expected("created", AccessToken.objects.get())]


# Costs


def move(call_bookmarks, bookmarks, collection):
    ids = [str(bookmark.pk) for bookmark in bookmarks]
    call_bookmarks("POST", "bookmarks-batch-move", body={"ids": ids, "collection": None})


def delete_many(call_bookmarks, bookmarks, collection):
    call_bookmarks("POST", "bookmarks-batch-delete", body={"ids": [str(bookmark.pk) for bookmark in bookmarks]})


def delete_one(call_bookmarks, bookmarks, collection):
    call_bookmarks("DELETE", "bookmark", bookmarks[0].pk)


def delete_collection(call_bookmarks, bookmarks, collection):
    call_bookmarks("DELETE", "collection", collection.pk)


def add_many(call_bookmarks, bookmarks, collection):
    call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": [{"url": URL}, {"url": f"{URL}2"}]})


NUMBERS_OF_QUERIES = {add_many: 2, move: 4, delete_one: 2, delete_many: 3, delete_collection: 10}
"""The number of queries of a call without receivers."""


@pytest.mark.parametrize("act", NUMBERS_OF_QUERIES)
def test_no_query_is_added_without_receivers(call_bookmarks, collection, act):
    bookmarks = BookmarkFactory.create_batch(3, user_group=collection.user_group, collection=collection)

    assert len(queries_of(act, call_bookmarks, bookmarks, collection)) == NUMBERS_OF_QUERIES[act]


@pytest.mark.parametrize(
    ("act", "more"), [(add_many, 0), (move, 0), (delete_one, 1), (delete_many, 1), (delete_collection, 1)]
)
def test_only_deletions_take_more_queries_with_receivers(call_bookmarks, collection, act, more):
    bookmarks = BookmarkFactory.create_batch(3, user_group=collection.user_group, collection=collection)

    with received():
        queries = queries_of(act, call_bookmarks, bookmarks, collection)

    assert len(queries) == NUMBERS_OF_QUERIES[act] + more


def test_a_chunk_takes_no_more_queries_with_receivers(user_group):
    def import_file(name):
        store(user_group, [Record(number, f"{URL}{name}/{number}") for number in range(100)])

    without = queries_of(import_file, "a")
    with received():
        queries = queries_of(import_file, "b")

    assert len(queries) == len(without)


def test_an_update_and_a_deletion_of_a_group_take_no_more_queries_with_a_receiver(call_usergroups, user_group):
    other = UserGroupFactory(team=user_group.team)

    def change_and_delete(group):
        call_usergroups("PUT", "user", {"user_group_id": group.provided_id, "name": "New"})
        call_usergroups("DELETE", "user", query={"user_group_id": group.provided_id})

    without = queries_of(change_and_delete, other)
    with received():
        assert len(queries_of(change_and_delete, user_group)) == len(without)
