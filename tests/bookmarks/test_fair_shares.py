"""The responses about bookmarks, collections and access tokens are bounded,
whatever is stored.
"""

import json

import pytest

from bookmarks.models import (
    MAX_COLLECTION_NAME_LENGTH,
    MAX_NOTE_LENGTH,
    AccessToken,
    Bookmark,
    Collection,
)
from tests.answers import error_code
from tests.bookmarks.factories import BookmarkFactory
from tests.usergroups.factories import store_tokens
from usergroups.api import pagination
from usergroups.api.pagination import KeysetPagination
from usergroups.tokens.models import MAX_TOKEN_NAME_LENGTH

URL = "https://example.com/"
CONTROL_CHARACTER = "\x01"  # six bytes of JSON


@pytest.fixture
def limit_page(user_group, monkeypatch):
    """Create four bookmarks, and return a function that limits a page to their
    size without this number of bytes.
    """
    texts = {
        "url": f"{URL}{'ü' * 50}",
        "title": CONTROL_CHARACTER * 10,
        "tags": ['"one"', "two"],
        "note": "😀" * 100,
    }
    for n in range(4):
        fields = {**texts, "url": f"{texts['url']}{n}"}
        BookmarkFactory(user_group=user_group, **fields)
    stored = [f"{texts['url']}0", texts["title"], '"one"\ntwo', texts["note"]]
    sizes = [len(json.dumps(text, ensure_ascii=False).encode()) for text in stored]

    def limit(missing):
        size = 4 * sum(sizes) - missing
        monkeypatch.setattr(pagination, "MAX_PAGE_SIZE", size)

    return limit


@pytest.mark.parametrize(
    ("missing", "number"), [(0, 4), (1, 3)], ids=["all fit", "one byte too much"]
)
@pytest.mark.parametrize(
    "query",
    [{}, {"tag": "two"}, {"updated_since": "2026-01-01T00:00:00Z", "collection": ""}],
    ids=["all", "tag", "changes outside of collections"],
)
def test_a_page_ends_before_the_text_of_its_bookmarks_exceeds_the_limit(
    call_bookmarks, limit_page, query, missing, number
):
    limit_page(missing)

    page = call_bookmarks("GET", "bookmarks", query=query).json()

    assert len(page["bookmarks"]) == number
    assert (page["next"] is None) == (number == 4)


def test_the_largest_pages_of_collections_and_access_tokens_are_small(
    call_bookmarks, call_access_tokens, user_group
):
    number = KeysetPagination.max_limit
    beginning = CONTROL_CHARACTER * (MAX_COLLECTION_NAME_LENGTH - 3)
    Collection.objects.bulk_create(
        Collection(user_group=user_group, name=f"{beginning}{n:03}")
        for n in range(number)
    )
    token = {"name": CONTROL_CHARACTER * MAX_TOKEN_NAME_LENGTH, **user_group.scope}
    store_tokens(AccessToken, number, user_group=user_group, **token)

    for name, call, url_name in (
        ("collections", call_bookmarks, "collections"),
        ("access_tokens", call_access_tokens, "team-access-tokens"),
    ):
        page = call("GET", url_name, query={"limit": number})
        assert len(page.json()[name]) == number
        assert len(page.content) < pagination.MAX_PAGE_SIZE


LONGEST_NOTE = CONTROL_CHARACTER * MAX_NOTE_LENGTH  # 60 KB of JSON


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize("exists", [False, True])
def test_a_batch_that_would_repeat_a_large_bookmark_in_its_answer_is_refused(
    call_bookmarks, user_group, exists, update
):
    first = {"url": URL, "title": "New", "note": LONGEST_NOTE}
    if exists:
        BookmarkFactory(user_group=user_group, url=URL, note=LONGEST_NOTE)
        del first["note"]
    items = [first, *[{"url": URL}] * 999]

    response = call_bookmarks(
        "POST", "bookmarks-batch", body={"bookmarks": items, "update": update}
    )

    assert error_code(response, 413) == "payload_too_large"
    assert not Bookmark.objects.filter(title="New").exists()


def test_a_move_whose_answer_would_be_too_large_is_refused(
    call_bookmarks, user_group, collection
):
    bookmark = BookmarkFactory(user_group=user_group, note=LONGEST_NOTE)

    def move(number):
        body = {"ids": [str(bookmark.pk)] * number, "collection": str(collection.pk)}
        return call_bookmarks("POST", "bookmarks-batch-move", body=body)

    # More than 32 MiB of text, and less.
    refused = move(600)
    accepted = move(500)

    assert error_code(refused, 413) == "payload_too_large"
    changed = [result["changed"] for result in accepted.json()["results"]]
    assert changed == [True, *[False] * 499]
