"""The signals about bookmarks, collections and access tokens."""

import pickle

import pytest
from django.db.models.signals import post_save, pre_save

from bookmarks.files.records import Record
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.bookmarks.imports import chunks_of_two  # noqa: F401
from tests.bookmarks.imports import imported as store
from tests.queries import concurrently
from tests.signals import expected, received, recorded

pytestmark = pytest.mark.django_db

URL = "https://example.com/"


# Bookmarks and collections


@pytest.mark.parametrize(
    ("url_name", "body", "model"),
    [
        ("bookmarks", {"url": URL}, Bookmark),
        ("collections", {"name": "New"}, Collection),
    ],
    ids=["bookmark", "collection"],
)
def test_a_new_object_is_announced_with_the_token_as_the_actor(
    call_bookmarks, access_token, url_name, body, model
):
    with recorded() as sent:
        call_bookmarks("POST", url_name, body=body)

    assert sent == [expected("created", model.objects.get(), actor=access_token)]


def test_what_changes_nothing_is_not_announced(call_bookmarks, user_group):
    bookmark, other = BookmarkFactory.create_batch(2, user_group=user_group)

    with recorded() as sent:
        call_bookmarks("POST", "bookmarks", body={"url": bookmark.url, "title": "New"})
        call_bookmarks("PATCH", "bookmark", bookmark.pk, body={})
        call_bookmarks("PATCH", "bookmark", bookmark.pk, body={"url": other.url})
        call_bookmarks(
            "POST", "bookmarks-batch", body={"bookmarks": [{"url": bookmark.url}]}
        )
        call_bookmarks("POST", "bookmarks-batch-delete", body={"ids": ["x"]})
        call_bookmarks(
            "POST", "bookmarks-batch-move", body={"ids": ["x"], "collection": None}
        )
        store(user_group, [Record(1, bookmark.url)])

    assert sent == []


@pytest.mark.django_db(transaction=True)
def test_a_bookmark_that_another_transaction_created_is_not_announced(
    create_bookmark, user_group
):
    bookmark = BookmarkFactory.build(user_group=user_group, url=URL)
    _, digest = bookmark.unique_key
    insert = (
        "INSERT INTO bookmarks_bookmark (id, user_group_id, url, url_digest, title, "
        f"tags, note, created_at, updated_at) VALUES ('{bookmark.pk}', {user_group.pk}, '{URL}', "
        f"'\\x{digest.hex()}', '', '', '', now(), now())"
    )

    # right before the INSERT of the call
    with received() as sent, concurrently("INSERT", insert):
        response = create_bookmark({"url": URL})

    assert (response.status_code, response.json()["bookmark"]["id"]) == (
        200,
        str(bookmark.pk),
    )
    assert sent == []


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"title": "New"}, {"title"}),
        ({"url": URL, "collection": None}, {"url", "collection"}),
    ],
    ids=["title", "url"],
)
def test_an_updated_bookmark_is_announced_with_the_written_fields(
    call_bookmarks, user_group, access_token, body, fields
):
    bookmark = BookmarkFactory(user_group=user_group)

    with recorded() as sent:
        call_bookmarks("PATCH", "bookmark", bookmark.pk, body=body)

    assert sent == [expected("updated", bookmark, actor=access_token, fields=fields)]
    [updated] = sent[0].arguments["instances"]
    assert updated.updated_at > bookmark.updated_at


def test_a_deleted_bookmark_is_announced_with_its_values(
    call_bookmarks, user_group, access_token
):
    bookmark = BookmarkFactory(user_group=user_group, url=URL)

    with recorded() as sent:
        call_bookmarks("DELETE", "bookmark", bookmark.pk)

    assert sent == [expected("deleted", bookmark, actor=access_token)]
    assert sent[0].arguments["instances"][0].url == URL


def test_deletions_of_instances_and_querysets_are_announced(user_group):
    first, second, third = BookmarkFactory.create_batch(3, user_group=user_group)

    with recorded() as sent:
        first.delete()
        Bookmark.objects.all().delete()

    assert sent == [expected("deleted", first), expected("deleted", second, third)]


# Batches


def test_a_batch_announces_the_created_bookmarks_in_one_signal(
    call_bookmarks, user_group, access_token
):
    existing = BookmarkFactory(user_group=user_group)
    items = [{"url": url} for url in (URL, f"{URL}2", URL, existing.url, "not a URL")]

    with recorded() as sent:
        call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": items})

    new = Bookmark.objects.exclude(pk=existing.pk).order_by("pk")
    [(name, sender, arguments)] = sent
    # The signal may have the bookmarks in any order.
    in_order = {
        **arguments,
        "instances": sorted(arguments["instances"], key=lambda each: each.pk),
    }
    assert (name, sender, in_order) == expected("created", *new, actor=access_token)


def test_a_batch_announces_the_deleted_bookmarks_in_one_signal(
    call_bookmarks, user_group, access_token
):
    first, second = BookmarkFactory.create_batch(2, user_group=user_group)
    ids = [str(first.pk), str(second.pk), str(BookmarkFactory().pk), "x"]

    with recorded() as sent:
        call_bookmarks("POST", "bookmarks-batch-delete", body={"ids": ids})

    assert sent == [expected("deleted", first, second, actor=access_token)]


def test_moved_bookmarks_are_announced_with_their_collection(
    call_bookmarks, user_group, collection, access_token
):
    moved = BookmarkFactory(user_group=user_group)
    duplicate = BookmarkFactory(user_group=user_group, url=URL)
    BookmarkFactory(user_group=user_group, url=URL, collection=collection)
    ids = [str(moved.pk), str(duplicate.pk), "x"]

    with recorded() as sent:
        call_bookmarks(
            "POST",
            "bookmarks-batch-move",
            body={"ids": ids, "collection": str(collection.pk)},
        )

    assert sent == [
        expected("updated", moved, actor=access_token, fields={"collection"})
    ]
    assert sent[0].arguments["instances"][0].collection == collection


def test_a_deleted_collection_is_announced_before_its_bookmarks(
    call_bookmarks, collection, access_token
):
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
    [_, [deleted], [updated]] = (arguments["instances"] for _, _, arguments in sent)
    assert (deleted.collection_id, updated.collection_id) == (collection.pk, None)


def summary(sent):
    """Return the name, sender, number of instances and actor of each signal."""
    return [
        (name, sender, len(arguments["instances"]), arguments["actor"])
        for name, sender, arguments in sent
    ]


# Access tokens


def test_an_issued_access_token_is_announced_with_the_api_token_as_the_actor(
    call_access_tokens, user_group, api_token
):
    with recorded() as sent:
        call_access_tokens(
            "POST", "access-tokens", body={"user_group_id": user_group.provided_id}
        )

    assert sent == [expected("created", AccessToken.objects.get(), actor=api_token)]


def test_a_revoked_access_token_is_announced_once(
    call_access_tokens, user_group, api_token
):
    token = AccessTokenFactory(user_group=user_group)

    with recorded() as sent:
        call_access_tokens("DELETE", "access-token", token.public_id)
        call_access_tokens("DELETE", "access-token", token.public_id)

    assert sent == [expected("revoked", token, actor=api_token)]


def test_batches_of_access_tokens_are_announced_at_once(
    call_access_tokens, user_group, api_token
):
    ids = [user_group.provided_id, "unknown", user_group.provided_id]

    with recorded() as sent:
        response = call_access_tokens(
            "POST", "access-tokens-batch", body={"user_group_ids": ids}
        )
        issued = [
            result["access_token"]
            for result in response.json()["results"]
            if result["success"]
        ]
        public_ids = [token["id"] for token in issued]
        for _ in range(2):
            call_access_tokens(
                "POST", "access-tokens-batch-revoke", body={"ids": public_ids}
            )

    assert summary(sent) == [
        ("created", AccessToken, 2, api_token),
        ("revoked", AccessToken, 2, api_token),
    ]
    for token in issued:
        assert token["secret"] not in repr(sent)
        assert token["secret"].encode() not in pickle.dumps(sent[0].arguments)


def test_a_token_that_rotates_itself_is_the_actor(call_bookmarks, access_token):
    with recorded() as sent:
        response = call_bookmarks("POST", "token-rotate", body={})

    assert summary(sent) == [
        ("created", AccessToken, 1, access_token),
        ("rotated", AccessToken, 1, access_token),
    ]
    assert response.json()["token"]["secret"] not in repr(sent)


def test_no_argument_of_a_signal_contains_the_secret_of_a_token(
    call_access_tokens, user_group, api_token
):
    with recorded() as sent:
        response = call_access_tokens(
            "POST", "access-tokens", body={"user_group_id": user_group.provided_id}
        )

    [(_, _, arguments)] = sent
    assert (
        AccessToken.objects.authenticate(response.json()["access_token"]["secret"])
        == arguments["instances"][0]
    )
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
    instances = [set(each.arguments["instances"]) for each in chunks]
    assert sorted(instances, key=len, reverse=True) == [{first, second}, {third}]
    assert summary(chunks) == [
        ("created", Bookmark, 2, None),
        ("created", Bookmark, 1, None),
    ]
    assert {
        bookmark.collection.name
        for each in chunks
        for bookmark in each.arguments["instances"]
    } == {"Folder"}


def test_no_call_sends_the_signals_of_django_that_save_sends(
    call_bookmarks, call_usergroups, call_access_tokens, user_group, collection
):
    bookmark = BookmarkFactory(user_group=user_group)
    saved = []
    id_of_group = {"user_group_id": user_group.provided_id}
    urls = [{"url": "https://example.com/b"}]

    def save(sender, **kwargs):
        if sender._meta.app_label in ("usergroups", "bookmarks"):
            saved.append(sender)

    pre_save.connect(save)
    post_save.connect(save)
    answers = [
        call_usergroups("POST", "user", {"user_group_id": "new"}),
        call_usergroups("PUT", "user", {**id_of_group, "name": "New"}),
        call_usergroups("POST", "users-batch", {"user_groups": [{**id_of_group}]}),
        call_access_tokens("POST", "access-tokens", body=id_of_group),
        call_usergroups("POST", "token-rotate", {}),
        call_bookmarks("POST", "collections", body={"name": "New"}),
        call_bookmarks("PATCH", "collection", collection.pk, body={"name": "Newer"}),
        call_bookmarks("POST", "bookmarks", body={"url": "https://example.com/a"}),
        call_bookmarks("PATCH", "bookmark", bookmark.pk, body={"title": "New"}),
        call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": urls}),
        call_bookmarks(
            "POST",
            "bookmarks-batch-move",
            body={"ids": [str(bookmark.pk)], "collection": str(collection.pk)},
        ),
        call_bookmarks("DELETE", "collection", collection.pk),
    ]
    pre_save.disconnect(save)
    post_save.disconnect(save)

    assert {answer.status_code for answer in answers} <= {200, 201}
    assert saved == []
