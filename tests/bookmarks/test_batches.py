"""Batches that delete or move bookmarks, and the validation of all batches of
bookmarks.
"""

from uuid import uuid4

import pytest

from bookmarks.models import Bookmark
from tests.answers import bookmark_json, errors
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.queries import concurrently

URL = "https://example.com/"


@pytest.fixture
def delete(call_bookmarks):
    return lambda *ids: call_bookmarks(
        "POST", "bookmarks-batch-delete", body={"ids": list(map(str, ids))}
    )


@pytest.fixture
def move(call_bookmarks):
    def call(collection, *ids):
        public_id = collection and str(collection.pk)
        return call_bookmarks(
            "POST",
            "bookmarks-batch-move",
            body={"ids": list(map(str, ids)), "collection": public_id},
        )

    return call


def statuses(response):
    assert response.status_code == 200
    assert response.json()["success"] == 1
    return [result["status"] for result in response.json()["results"]]


def failed(status, code, attr=None):
    """Return what ``outcome`` returns for the result of an item that failed."""
    return status, 0, [(attr, code)]


def outcome(result):
    """Return the status, ``success`` and the errors of one item's result."""
    return (
        result["status"],
        result["success"],
        [(error["attr"], error["code"]) for error in result["errors"]],
    )


# Deletion


def test_bookmarks_are_deleted(delete, user_group):
    kept, *deleted = BookmarkFactory.create_batch(4, user_group=user_group)

    response = delete(*(bookmark.pk for bookmark in deleted))

    assert response.json() == {
        "success": 1,
        "results": [{"status": 200, "success": 1}] * 3,
    }
    assert Bookmark.objects.get() == kept


def test_each_id_has_its_own_result(delete, user_group):
    bookmark = BookmarkFactory(user_group=user_group)
    of_another_group = BookmarkFactory()

    response = delete(uuid4(), bookmark.pk, "x", bookmark.pk, of_another_group.pk)

    assert statuses(response) == [404, 200, 404, 404, 404]
    assert outcome(response.json()["results"][0]) == failed(404, "bookmark_not_found")
    assert Bookmark.objects.get() == of_another_group


# Moves


def test_bookmarks_are_moved_into_a_collection_and_out_of_it(
    move, user_group, collection
):
    bookmarks = BookmarkFactory.create_batch(3, user_group=user_group)
    ids = [bookmark.pk for bookmark in bookmarks]

    moved_in = move(collection, *ids)
    stored = [Bookmark.objects.get(pk=each) for each in ids]
    moved_out = move(None, *ids)

    assert moved_in.json() == {
        "success": 1,
        "results": [
            {"status": 200, "success": 1, "bookmark": bookmark_json(bookmark)}
            for bookmark in stored
        ],
    }
    assert {bookmark.collection for bookmark in stored} == {collection}
    assert all(
        new.updated_at > old.updated_at
        for new, old in zip(stored, bookmarks, strict=True)
    )
    assert statuses(moved_out) == [200] * 3
    assert set(Bookmark.objects.values_list("collection", flat=True)) == {None}


def test_a_move_that_would_create_a_duplicate_is_refused_for_its_item(
    move, user_group, collection
):
    inside = BookmarkFactory(user_group=user_group, url=URL, collection=collection)
    duplicate = BookmarkFactory(user_group=user_group, url="HTTPS://EXAMPLE.com")
    other = BookmarkFactory(user_group=user_group)

    response = move(collection, duplicate.pk, inside.pk, other.pk, uuid4())

    assert statuses(response) == [409, 200, 200, 404]
    assert outcome(response.json()["results"][0]) == failed(
        409, "already_exists", "collection"
    )
    [error] = response.json()["results"][0]["errors"]
    assert error["existing"] == str(inside.pk)
    assert set(Bookmark.objects.filter(collection=collection)) == {inside, other}


def test_of_two_bookmarks_with_one_url_the_first_in_the_request_is_moved(
    move, user_group, collection
):
    other_collection = CollectionFactory(user_group=user_group)
    older = BookmarkFactory(user_group=user_group, url=URL, collection=other_collection)
    newer = BookmarkFactory(user_group=user_group, url=URL)

    response = move(collection, newer.pk, older.pk)

    assert statuses(response) == [200, 409]
    [error] = response.json()["results"][1]["errors"]
    assert error["existing"] == str(newer.pk)
    assert Bookmark.objects.get(collection=collection) == newer


def test_the_collection_is_required(call_bookmarks):
    assert errors(call_bookmarks("POST", "bookmarks-batch-move", body={"ids": []})) == [
        ("collection", "required")
    ]


@pytest.mark.django_db(transaction=True)
def test_a_duplicate_that_appears_during_the_move_is_refused(
    move, user_group, collection
):
    bookmark = BookmarkFactory(user_group=user_group, url=URL)
    other = BookmarkFactory(user_group=user_group, url=f"{URL}other")
    table = Bookmark._meta.db_table
    digest = bytes(bookmark.url_digest).hex()
    update = (
        f"UPDATE {table} SET url_digest = '\\x{digest}', collection_id = "
        f"'{collection.pk}' WHERE id = '{other.pk}'"
    )

    # Another transaction makes the other bookmark the duplicate, right before
    # the move is written.
    with concurrently(f'UPDATE "{table}"', update):
        response = move(collection, bookmark.pk)

    assert statuses(response) == [409]


# Validation


@pytest.mark.parametrize(
    ("value", "code"),
    [(None, "null"), ("x", "not_a_list"), (["x"] * 1001, "max_length")],
)
@pytest.mark.parametrize(
    ("url_name", "valid"),
    [
        ("bookmarks-batch", {"bookmarks": []}),
        ("bookmarks-batch-delete", {"ids": []}),
        ("bookmarks-batch-move", {"ids": [], "collection": None}),
    ],
)
def test_invalid_lists_are_refused(call_bookmarks, url_name, valid, value, code):
    field, *others = valid
    without = dict.fromkeys(others)

    invalid = call_bookmarks("POST", url_name, body={**without, field: value})
    missing = call_bookmarks("POST", url_name, body=without)

    assert errors(invalid) == [(field, code)]
    assert errors(missing) == [(field, "required")]


@pytest.mark.parametrize(
    ("url_name", "others"),
    [("bookmarks-batch-delete", {}), ("bookmarks-batch-move", {"collection": None})],
)
def test_an_empty_id_or_one_that_is_not_text_is_refused_for_its_item(
    call_bookmarks, user_group, url_name, others
):
    bookmark = BookmarkFactory(user_group=user_group)

    response = call_bookmarks(
        "POST",
        url_name,
        body={"ids": [1, None, str(bookmark.pk), ""], **others},
    )

    assert statuses(response) == [400, 400, 200, 400]
    assert [outcome(response.json()["results"][n])[2] for n in (0, 1, 3)] == [
        [(None, "invalid")],
        [(None, "null")],
        [(None, "blank")],
    ]
