"""Batches that delete or move bookmarks, and the validation of all batches of
bookmarks.
"""

from uuid import uuid4

import pytest

from bookmarks import web_url
from bookmarks.models import Bookmark
from tests.answers import bookmark_json, errors, etag_of
from tests.bookmarks.factories import (
    AccessTokenFactory,
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


def statuses(response):
    assert response.status_code == 200
    assert response.json()["success"] == 1
    return [result["status"] for result in response.json()["results"]]


def changes(response):
    return [result["changed"] for result in response.json()["results"]]


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

    assert moved_in.json() == {
        "success": 1,
        "results": [
            {
                "status": 200,
                "success": 1,
                "changed": True,
                "updated_at": bookmark_json(bookmark)["updated_at"],
                "etag": etag_of(bookmark.updated_at),
                "bookmark": bookmark_json(bookmark),
            }
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
    assert changes(response) == [False, False, True, False]
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


def test_a_repeated_id_changes_its_bookmark_once(move, user_group, collection):
    bookmark = BookmarkFactory(user_group=user_group)

    response = move(collection, bookmark.pk, bookmark.pk)

    assert statuses(response) == [200, 200]
    assert changes(response) == [True, False]


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
    assert [result["bookmark"] for result in response.json()["results"]] == [
        bookmark_json(bookmark) for bookmark in stored
    ]
    assert [result["updated_at"] for result in response.json()["results"]] == [
        bookmark_json(bookmark)["updated_at"] for bookmark in stored
    ]
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

    assert [outcome(each)[2] for each in response.json()["results"]] == [
        [("if_match", "invalid")],
        [("if_match", "null")],
    ]


@pytest.mark.django_db(transaction=True)
def test_an_item_whose_bookmark_changes_right_before_the_write_is_refused(
    put, user_group
):
    bookmark = BookmarkFactory(user_group=user_group, url=URL)
    table = Bookmark._meta.db_table
    change = f"UPDATE {table} SET title = 'Other', updated_at = now()"

    with concurrently(f'SELECT "{table}"', change):
        response = put(
            {"url": URL, "title": "A", "if_match": etag_of(bookmark.updated_at)}
        )

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

    assert statuses(response) == [400, 400, 200]
    assert [outcome(each)[2] for each in response.json()["results"][:2]] == [
        [("tags_add", "max_length")],
        [("tags", "invalid")],
    ]
    assert Bookmark.objects.get().tags == [str(n) for n in range(1, 51)]


@pytest.mark.django_db(transaction=True)
def test_tags_are_added_to_a_bookmark_that_is_created_meanwhile(put, user_group):
    key = uuid4()
    digest = web_url.digest(URL)
    table = Bookmark._meta.db_table
    insert = (
        f"INSERT INTO {table} (id, user_group_id, url, url_digest, title, tags, note, "
        f"created_at, updated_at) VALUES ('{key}', {user_group.pk}, '{URL}', "
        f"'\\x{digest.hex()}', '', 'theirs', '', now(), now())"
    )

    with concurrently(f'INSERT INTO "{table}"', insert):
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

    response = call_bookmarks(
        "POST",
        "bookmarks-lookup",
        body={"urls": ["HTTPS://EXAMPLE.com", f"{URL}other", "example.com", 1, URL]},
        token=AccessTokenFactory(user_group=user_group, read_only=True),
    )

    found = {
        "status": 200,
        "success": 1,
        "ids": [str(bookmark.pk) for bookmark in (outside, inside)],
    }
    results = response.json()["results"]
    assert results[:2] == [found, {**found, "ids": []}]
    assert [outcome(result) for result in results[2:4]] == [
        failed(400, "invalid"),
        failed(400, "invalid"),
    ]
    assert results[4] == found


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
