"""The operations on collections."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse

from bookmarks.models import Bookmark, Collection
from tests.answers import collection_json, errors, listed
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory

URL = "https://example.com/"


@pytest.mark.parametrize("name", ["a", " spaced ", "ü\N{GRINNING FACE}", "a" * 255])
def test_a_collection_is_created_and_found_at_its_location(
    call_bookmarks, api_client, access_token, name
):
    response = call_bookmarks("POST", "collections", body={"name": name})

    collection = Collection.objects.get()
    assert response.status_code == 201
    assert response.json() == {"success": 1, "collection": collection_json(collection)}
    assert (collection.name, collection.user_group) == (name, access_token.user_group)
    read = api_client.get(
        response["Location"], HTTP_AUTHORIZATION=f"Bearer {access_token.secret}"
    )
    assert read.json() == response.json()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": None}, "null"),
        ({"name": ""}, "blank"),
        ({"name": 1}, "invalid"),
        ({"name": "a" * 256}, "max_length"),
    ],
)
def test_invalid_names_are_refused(call_bookmarks, collection, body, code):
    for response in (
        call_bookmarks("POST", "collections", body=body),
        call_bookmarks("PATCH", "collection", collection.pk, body=body),
    ):
        assert errors(response) == [("name", code)]
    nameless = call_bookmarks("POST", "collections", body={})
    assert errors(nameless) == [("name", "required")]


def test_a_duplicate_name_is_a_conflict(call_bookmarks, collection):
    CollectionFactory(name="Work")  # of another group, and older
    CollectionFactory(name="Of another group")
    # not the first collection of the user group
    other = CollectionFactory(user_group=collection.user_group, name="Work")

    for response in (
        call_bookmarks("POST", "collections", body={"name": "Work"}),
        call_bookmarks("PATCH", "collection", collection.pk, body={"name": "Work"}),
    ):
        assert errors(response, 409) == [("name", "already_exists")]
        assert response.json()["errors"][0]["existing"] == str(other.pk)
        location = reverse("bookmarks:collection", args=[other.pk])
        assert response["Location"] == location
    free = {"name": "Of another group"}
    assert call_bookmarks("POST", "collections", body=free).status_code == 201


@pytest.mark.parametrize(
    ("name", "number"), [("Reading list", 1), ("reading list", 0), ("Reading", 0)]
)
def test_collections_are_filtered_by_name(call_bookmarks, user_group, name, number):
    CollectionFactory.create_batch(2, user_group=user_group)
    CollectionFactory(name="Reading list")  # of another group
    collection = CollectionFactory(user_group=user_group, name="Reading list")

    page = call_bookmarks("GET", "collections", query={"name": name}).json()

    assert [each["id"] for each in page["collections"]] == [str(collection.pk)] * number


def test_a_collection_is_renamed(call_bookmarks, collection):
    for body in ({"name": "New"}, {}):
        response = call_bookmarks("PATCH", "collection", collection.pk, body=body)

        stored = Collection.objects.get()
        assert response.status_code == 200
        shown = {**collection_json(stored), "name": "New"}
        assert response.json() == {"success": 1, "collection": shown}
    assert stored.updated_at > collection.updated_at


def test_collections_are_listed_newest_first(call_bookmarks, user_group):
    collections = CollectionFactory.create_batch(3, user_group=user_group)
    CollectionFactory()  # of another group

    response = call_bookmarks("GET", "collections")

    assert response.json() == {
        "success": 1,
        "next": None,
        "previous": None,
        "next_cursor": None,
        "collections": [
            listed(collection_json(collection), collection)
            for collection in reversed(collections)
        ],
    }


# Deletion


def test_deleting_a_collection_keeps_its_bookmarks(
    call_bookmarks, collection, user_group
):
    own = {"user_group": user_group}
    inside = BookmarkFactory.create_batch(2, **own, collection=collection)
    other = BookmarkFactory(**own, collection=CollectionFactory(**own))

    response = call_bookmarks("DELETE", "collection", collection.pk)
    again = call_bookmarks("DELETE", "collection", collection.pk)

    assert (response.status_code, response.json()) == (200, {"success": 1})
    assert not Collection.objects.filter(pk=collection.pk).exists()
    assert set(Bookmark.objects.filter(collection=None)) == set(inside)
    assert Bookmark.objects.filter(collection__isnull=False).get() == other
    assert errors(again, 404) == [(None, "collection_not_found")]


@pytest.mark.parametrize(
    "inside", ["older", "newer"], ids=["older inside", "older outside"]
)
@pytest.mark.parametrize("day", [1, 2], ids=["same time", "another time"])
def test_deleting_a_collection_keeps_the_older_of_duplicates(
    call_bookmarks, collection, inside, day
):
    """It takes over what it lacks. If both were created at the same time, the
    one with the lower id counts as older.
    """
    collections = {"older": None, "newer": None, inside: collection}
    older, _ = [
        BookmarkFactory(
            user_group=collection.user_group,
            url=url,
            collection=collections[name],
            created_at=datetime(2026, 1, day_of_creation, tzinfo=UTC),
            title=title,
            tags=tags,
            note=name,
        )
        for name, url, day_of_creation, title, tags in (
            ("older", "https://EXAMPLE.com", 1, "", ["a"]),
            ("newer", URL, day, "Newer", ["A", "b"]),
        )
    ]
    of_another_group = BookmarkFactory(url=URL)

    call_bookmarks("DELETE", "collection", collection.pk)

    kept = Bookmark.objects.exclude(pk=of_another_group.pk).get()
    assert (kept.pk, kept.collection) == (older.pk, None)
    assert (kept.title, kept.tags, kept.note) == ("Newer", ["a", "b"], "older")


def test_the_database_refuses_a_deletion_that_leaves_bookmarks_behind(
    user_group, collection
):
    BookmarkFactory(user_group=user_group, collection=collection)

    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM bookmarks_collection")

    with pytest.raises(IntegrityError), transaction.atomic():
        connection.check_constraints()  # as a commit does
    # so that Django does not check them again after the test
    transaction.set_rollback(True)


# Ids


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("url_name", ["bookmark", "collection"])
def test_an_unknown_or_malformed_id_is_not_found(
    call_bookmarks, user_group, method, url_name
):
    """An object's own id in another form than the canonical one is unknown,
    too.
    """
    factory, field = {
        "bookmark": (BookmarkFactory, "title"),
        "collection": (CollectionFactory, "name"),
    }[url_name]
    own = factory(user_group=user_group)
    forms = [str(own.pk).upper(), own.pk.hex, f"{{{own.pk}}}"]

    for unknown in (str(uuid4()), "x", "a" * 300, "\0", *forms):
        response = call_bookmarks(method, url_name, unknown, body={field: "New"})

        assert errors(response, 404) == [(None, f"{url_name}_not_found")]
    own.refresh_from_db()  # It still exists.
