"""Batches that delete or move bookmarks, and the validation of all batches of
bookmarks.
"""

from uuid import uuid4

import pytest
from django.utils import timezone

from bookmarks import web_url
from bookmarks.models import Bookmark
from tests.answers import bookmark_json, changes, errors, etag_of, statuses
from tests.bookmarks.factories import (
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import committed_after_wait, concurrently

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


def test_each_id_has_its_own_result(delete, user_group):
    bookmark = BookmarkFactory(user_group=user_group)
    of_another_group = BookmarkFactory()

    response = delete(uuid4(), bookmark.pk, "x", bookmark.pk, of_another_group.pk)

    assert statuses(response) == [404, 200, 404, 404, 404]
    assert changes(response) == [False, True, False, False, False]
    results = response.json()["results"]
    assert outcome(results[0]) == failed(404, "bookmark_not_found")
    assert results[1] == {"status": 200, "success": 1, "changed": True}
    assert Bookmark.objects.get() == of_another_group


# Moves


def test_bookmarks_are_moved_into_a_collection_and_out_of_it(
    move, user_group, collection
):
    bookmarks = BookmarkFactory.create_batch(
        3, user_group=user_group, tags=["a", "b"], note="N"
    )
    ids = [bookmark.pk for bookmark in bookmarks]

    moved_in = move(collection, *ids)
    stored = [Bookmark.objects.get(pk=each) for each in ids]
    moved_out = move(None, *ids)

    assert moved_in.json()["results"] == [
        {
            "status": 200,
            "success": 1,
            "changed": True,
            "updated_at": bookmark_json(bookmark)["updated_at"],
            "etag": etag_of(bookmark.updated_at),
            "bookmark": bookmark_json(bookmark),
        }
        for bookmark in stored
    ]
    assert {bookmark.collection for bookmark in stored} == {collection}
    for new, old in zip(stored, bookmarks, strict=True):
        assert new.updated_at > old.updated_at
    assert statuses(moved_out) == [200] * 3
    assert set(Bookmark.objects.values_list("collection", flat=True)) == {None}


def test_a_move_that_would_create_a_duplicate_is_refused_for_its_item(
    move, user_group, collection
):
    inside = BookmarkFactory(user_group=user_group, url=URL, collection=collection)
    duplicate = BookmarkFactory(user_group=user_group, url="HTTPS://EXAMPLE.com")
    other = BookmarkFactory(user_group=user_group)

    response = move(collection, duplicate.pk, inside.pk, other.pk, other.pk, uuid4())

    # The fourth item repeats the third.
    assert statuses(response) == [409, 200, 200, 200, 404]
    assert changes(response) == [False, False, True, False, False]
    refused = response.json()["results"][0]
    assert outcome(refused) == failed(409, "already_exists", "collection")
    assert refused["errors"][0]["existing"] == str(inside.pk)
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
    response = call_bookmarks("POST", "bookmarks-batch-move", body={"ids": []})

    assert errors(response) == [("collection", "required")]


@pytest.mark.django_db(transaction=True)
def test_a_duplicate_that_appears_during_the_move_is_refused(
    move, user_group, collection
):
    bookmark = BookmarkFactory(user_group=user_group, url=URL)

    def duplicate():
        BookmarkFactory(user_group=user_group, url=URL, collection=collection)

    # right before the move is written
    with concurrently('UPDATE "bookmarks_bookmark"', duplicate):
        response = move(collection, bookmark.pk)

    assert statuses(response) == [409]


# Updates


@pytest.fixture
def put(call_bookmarks):
    """Return a function that sends a batch of bookmarks with ``update``."""

    def call(*items, update=True):
        return call_bookmarks(
            "POST", "bookmarks-batch", body={"bookmarks": items, "update": update}
        )

    return call


def test_an_update_replaces_only_the_fields_that_are_sent(put, user_group):
    old = {"title": "Old", "tags": ["a", "b"], "note": "Old"}
    one = BookmarkFactory(user_group=user_group, url=f"{URL}1", **old)
    two = BookmarkFactory(user_group=user_group, url=f"{URL}2", **old)
    of_another_group = BookmarkFactory(url=f"{URL}1", **old)

    response = put(
        {"url": f"{URL}1", "title": "New", "tags": [" c "]},
        {"url": f"{URL}2", "note": ""},
        {"url": f"{URL}3", "title": "New"},
    )

    stored = [
        Bookmark.objects.get(user_group=user_group, url=f"{URL}{n}") for n in "123"
    ]
    assert statuses(response) == [200, 200, 201]
    assert changes(response) == [True] * 3
    for result, row in zip(response.json()["results"], stored, strict=True):
        assert result["bookmark"] == bookmark_json(row)
        assert result["updated_at"] == bookmark_json(row)["updated_at"]
    values = [(row.title, row.tags, row.note) for row in stored]
    assert values == [("New", ["c"], "Old"), ("Old", ["a", "b"], ""), ("New", [], "")]
    assert [row.created_at for row in stored[:2]] == [one.created_at, two.created_at]
    of_another_group.refresh_from_db()
    assert of_another_group.title == "Old"


def test_an_update_to_the_same_values_changes_nothing(put, user_group):
    values = {"title": "A", "tags": ["a", "b"], "note": "N"}
    bookmark = BookmarkFactory(user_group=user_group, url=URL, **values)

    response = put({"url": "HTTPS://EXAMPLE.com", **values}, {"url": URL})

    assert statuses(response) == [200, 200]
    assert changes(response) == [False, False]
    assert Bookmark.objects.get().updated_at == bookmark.updated_at


@pytest.mark.django_db(transaction=True)
def test_an_update_waits_for_a_concurrent_change_and_keeps_its_other_fields(
    put, user_group
):
    values = {"title": "Old", "tags": ["old"], "note": "Old"}
    bookmark = BookmarkFactory(user_group=user_group, url=URL, **values)
    row = Bookmark.objects.filter(pk=bookmark.pk)

    with committed_after_wait(lambda: row.update(title="Other", note="Other")):
        response = put({"url": URL, "title": "New"})

    stored = row.get()
    assert changes(response) == [True]
    assert response.json()["results"][0]["bookmark"] == bookmark_json(stored)
    assert (stored.title, stored.tags, stored.note) == ("New", ["old"], "Other")


def test_the_later_of_two_items_with_one_url_overrides_the_earlier(put, user_group):
    BookmarkFactory(user_group=user_group, url=f"{URL}1")

    for path, status in ("1", 200), ("2", 201):
        response = put(
            {"url": f"{URL}{path}", "title": "First", "note": "First"},
            {"url": f"{URL}{path}", "title": "Second"},
        )

        assert statuses(response) == [status, 200]
        assert changes(response) == [True, False]
        stored = Bookmark.objects.get(url=f"{URL}{path}")
        assert (stored.title, stored.note) == ("Second", "First")
        assert response.json()["results"][0]["bookmark"] == bookmark_json(stored)


def test_a_collection_separates_the_bookmarks_to_update(put, user_group, collection):
    BookmarkFactory(user_group=user_group, url=URL, title="Outside")
    BookmarkFactory(user_group=user_group, url=URL, collection=collection)

    put({"url": URL, "title": "Inside", "collection": str(collection.pk)})

    titles = dict(Bookmark.objects.values_list("collection", "title"))
    assert titles == {None: "Outside", collection.pk: "Inside"}


@pytest.mark.parametrize("update", ["true", 1, None])
def test_update_is_true_or_false(put, update):
    [(attr, _)] = errors(put(update=update))
    assert attr == "update"


# Conditions, and changes of tags

STALE = '"0"'


@pytest.mark.parametrize("update", [True, False])
def test_an_item_is_refused_if_its_bookmark_has_changed(put, user_group, update):
    bookmark = BookmarkFactory(user_group=user_group, url=URL, title="Old")

    response = put(
        {"url": URL, "title": "A", "if_match": STALE},
        {"url": f"{URL}absent", "if_match": STALE},
        {"url": f"{URL}new"},
        {"url": URL, "title": "B", "if_match": etag_of(bookmark.updated_at)},
        {"url": URL, "title": "C", "if_match": "no ETag"},
        update=update,
    )

    results = response.json()["results"]
    assert statuses(response) == [412, 412, 201, 200, 412]
    assert changes(response) == [False, False, True, update, False]
    assert outcome(results[0]) == failed(412, "precondition_failed")
    bookmark.refresh_from_db()
    assert bookmark.title == ("B" if update else "Old")
    assert results[3]["etag"] == etag_of(bookmark.updated_at)
    assert not Bookmark.objects.filter(url=f"{URL}absent").exists()


def test_only_text_can_be_an_if_match(put):
    response = put({"url": URL, "if_match": 1}, {"url": URL, "if_match": None})

    number, null = response.json()["results"]
    assert outcome(number) == failed(400, "invalid", "if_match")
    assert outcome(null) == failed(400, "null", "if_match")


@pytest.mark.django_db(transaction=True)
def test_an_item_whose_bookmark_changes_right_before_the_write_is_refused(
    put, user_group
):
    bookmark = BookmarkFactory(user_group=user_group, url=URL)
    item = {"url": URL, "title": "A", "if_match": etag_of(bookmark.updated_at)}

    def change():
        Bookmark.objects.update(title="Other", updated_at=timezone.now())

    with concurrently('SELECT "bookmarks_bookmark"', change):
        response = put(item)

    assert statuses(response) == [412]
    assert Bookmark.objects.get().title == "Other"


@pytest.mark.parametrize(
    ("item", "tags"),
    [
        ({"tags_add": ["B", "c"]}, ["a", "b", "c"]),
        ({"tags_remove": ["A", "x"]}, ["b"]),
        ({"tags_remove": ["A"], "tags_add": ["a"]}, ["b", "a"]),
        ({"tags_add": []}, ["a", "b"]),
    ],
)
def test_tags_are_added_and_removed(put, user_group, item, tags):
    BookmarkFactory(user_group=user_group, url=URL, tags=["a", "b"])

    response = put({"url": URL, **item})

    assert statuses(response) == [200]
    assert Bookmark.objects.get().tags == tags


def test_each_item_changes_the_tags_of_the_one_before(put):
    response = put(
        {"url": URL, "tags_add": ["a"]},
        {"url": URL, "tags": ["b"]},
        {"url": URL, "tags_add": ["c"], "tags_remove": ["a"]},
    )

    assert statuses(response) == [201, 200, 200]
    assert Bookmark.objects.get().tags == ["b", "c"]


def test_tags_are_not_changed_beside_a_list_or_beyond_the_maximum(put, user_group):
    BookmarkFactory(user_group=user_group, url=URL, tags=[str(n) for n in range(50)])

    response = put(
        {"url": URL, "tags_add": ["50"]},
        {"url": URL, "tags": [], "tags_add": ["50"]},
        {"url": URL, "tags_add": ["50"], "tags_remove": ["0"]},
    )

    too_many, beside, _ = response.json()["results"]
    assert statuses(response) == [400, 400, 200]
    assert outcome(too_many) == failed(400, "max_length", "tags_add")
    assert outcome(beside) == failed(400, "invalid", "tags")
    assert Bookmark.objects.get().tags == [str(n) for n in range(1, 51)]


@pytest.mark.django_db(transaction=True)
def test_tags_are_added_to_a_bookmark_that_is_created_meanwhile(put, user_group):
    theirs = {"user_group": user_group, "url": URL, "tags": ["theirs"]}

    with concurrently(
        'INSERT INTO "bookmarks_bookmark"', lambda: BookmarkFactory(**theirs)
    ):
        response = put({"url": URL, "tags_add": ["ours"]})

    assert statuses(response) == [200]
    assert Bookmark.objects.get().tags == ["theirs", "ours"]


# Lookups


def test_a_lookup_finds_the_bookmarks_of_each_url(
    call_bookmarks, user_group, collection
):
    outside = BookmarkFactory(user_group=user_group, url=URL)
    inside = BookmarkFactory(user_group=user_group, url=URL, collection=collection)
    BookmarkFactory(url=f"{URL}other")
    urls = ["HTTPS://EXAMPLE.com", f"{URL}other", URL, "example.com", 1]

    response = call_bookmarks("POST", "bookmarks-lookup", body={"urls": urls})

    found = {"status": 200, "success": 1, "ids": [str(outside.pk), str(inside.pk)]}
    *results, invalid, number = response.json()["results"]
    assert results == [found, {**found, "ids": []}, found]
    assert outcome(invalid) == outcome(number) == failed(400, "invalid")


def test_a_lookup_that_finds_too_many_ids_is_refused(
    call_bookmarks, user_group, collection, monkeypatch
):
    monkeypatch.setattr("bookmarks.querysets.bookmarks.MAX_FOUND", 3)
    # Bookmarks with other URLs do not count, although they come first in each
    # index.
    others = sorted([f"{URL}{n}" for n in range(1000)], key=web_url.digest)
    for other in others[:4]:
        BookmarkFactory(user_group=user_group, url=other)
    BookmarkFactory(user_group=user_group, url=URL)
    BookmarkFactory(user_group=user_group, url=URL, collection=collection)
    BookmarkFactory(user_group=user_group, url=f"{URL}other")

    def look_up(*urls):
        return call_bookmarks("POST", "bookmarks-lookup", body={"urls": urls})

    found = look_up(URL, f"{URL}other").json()["results"]
    assert [len(result["ids"]) for result in found] == [2, 1]
    # Each of the two ids of a repeated URL is found twice.
    assert errors(look_up(URL, URL), 413) == [(None, "payload_too_large")]


# Validation


@pytest.mark.parametrize(
    ("url_name", "others"),
    [("bookmarks-batch-delete", {}), ("bookmarks-batch-move", {"collection": None})],
)
def test_an_empty_id_or_one_that_is_not_text_is_refused_for_its_item(
    call_bookmarks, user_group, url_name, others
):
    bookmark = BookmarkFactory(user_group=user_group)
    body = {"ids": [1, None, "", str(bookmark.pk)], **others}

    response = call_bookmarks("POST", url_name, body=body)

    assert statuses(response) == [400, 400, 400, 200]
    codes = [outcome(each)[2] for each in response.json()["results"][:3]]
    assert codes == [[(None, "invalid")], [(None, "null")], [(None, "blank")]]
