"""The pages of lists."""

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.contract.conftest import caller
from tests.usergroups.factories import UserGroupFactory
from usergroups.models import UserGroup

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
LISTS = {"list_user_groups": "user_groups", "list_bookmarks": "bookmarks", "list_collections": "collections"}


def cursor(*values):
    return urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


@pytest.fixture(params=LISTS)
def listing(request, client, user_group):
    """Return functions that get a page of a list, return the keys on it, and create a row with this time."""
    UserGroup.objects.update(environment="Testing")  # so that it is not in the list of groups
    make = {
        "list_user_groups": lambda time: UserGroupFactory(team=user_group.team, created_at=time).provided_id,
        "list_bookmarks": lambda time: str(BookmarkFactory(user_group=user_group, created_at=time).pk),
        "list_collections": lambda time: str(CollectionFactory(user_group=user_group, created_at=time).pk),
    }
    call = caller(client, user_group, request.param)
    base = call.url

    def page(link):
        call.url = base + (link if link.startswith("?") else "?" + link.partition("?")[2])
        response = call()
        assert response.status_code == 200
        return response.json()

    def keys(page):
        key = "provided_id" if request.param == "list_user_groups" else "id"
        return [item[key] for item in page[LISTS[request.param]]]

    return page, keys, make[request.param]


def follow(page, keys, link, direction):
    """Return the keys on each page from ``link`` on."""
    pages = []
    while link:
        answer = page(link)
        pages.append(keys(answer))
        link = answer[direction]
    return pages


def test_rows_with_the_same_time_are_listed_exactly_once(listing):
    page, keys, make = listing
    made = {make(MOMENT) for _ in range(11)}

    pages = follow(page, keys, "?limit=3", "next")

    assert len(pages) == 4
    assert sorted(key for keys in pages for key in keys) == sorted(made)


def test_previous_links_lead_to_the_same_pages(listing):
    page, keys, make = listing
    for day in range(1, 8):
        make(MOMENT.replace(day=day))
    first = page("?limit=2")
    second = page(first["next"])
    third = page(second["next"])

    back = page(third["previous"])
    start = page(back["previous"])

    assert (keys(back), keys(start)) == (keys(second), keys(first))
    assert (first["previous"], start["previous"]) == (None, None)
    assert back["next"]


def test_new_rows_do_not_shift_the_following_pages(listing):
    page, keys, make = listing
    stood = {make(MOMENT.replace(day=day)) for day in range(1, 11)}
    pages, link = [], "?limit=3"
    while link:
        answer = page(link)
        pages.append(keys(answer))
        make(MOMENT.replace(month=2))
        make(MOMENT)
        link = answer["next"]

    shown = [key for keys in pages for key in keys]
    assert len(shown) == len(set(shown))
    assert stood <= set(shown)


def test_a_list_of_the_oldest_ends_while_rows_are_added_faster_than_it_is_read(listing):
    page, keys, make = listing
    stood = [make(MOMENT.replace(day=day)) for day in range(1, 6)]
    answer = page("?limit=2&order=oldest")
    shown = keys(answer)
    for _ in range(2):
        added = [make(timezone.now()) for _ in range(3)]
        answer = page(answer["next"])
        shown += keys(answer)

    assert shown == stood
    assert answer["next"] is None
    assert set(added) <= set(keys(page("?limit=200&order=oldest")))


def test_deleted_rows_do_not_shift_the_following_pages(listing):
    page, keys, make = listing
    made = [make(MOMENT.replace(day=day)) for day in range(1, 7)][::-1]
    first = page("?limit=2")
    assert keys(first) == made[:2]

    for model in (UserGroup, Bookmark, Collection):
        model.objects.filter(created_at=MOMENT.replace(day=5)).delete()  # the row in the cursor

    assert follow(page, keys, first["next"], "next") == [made[2:4], made[4:6]]


@pytest.mark.parametrize(("query", "size"), [("", 50), ("?limit=200", 200), ("?limit=201", 200), ("?limit=1", 1)])
def test_the_limit_sets_the_size_of_a_page(listing, query, size):
    page, keys, make = listing
    for _ in range(201):
        make(MOMENT.replace(month=2))

    assert len(keys(page(query or "?"))) == size


def test_links_keep_the_filters(listing):
    page, _, make = listing
    for _ in range(3):
        make(MOMENT)

    link = page("?limit=1&order=oldest")["next"]

    assert "limit=1&order=oldest&cursor=" in link
    assert link.startswith("http://testserver/")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "=",
        "\N{GRINNING FACE}",
        "bnVsbA",  # null
        "W10",  # []
        "WyIyMDI2LTAxLTAxIiwgIngiLCB0cnVlXQ",  # a date without a time
        "WyIwMDAxLTAxLTAxVDAwOjAwOjAwKzE0OjAwIiwgIngiLCB0cnVlXQ",  # before the first year in UTC
        "WyIyMDI2LTAxLTAxVDAwOjAwOjAwKzAwOjAwIiwgIlx1MDAwMCIsIHRydWVd",  # U+0000 for a key
        "WyIyMDI2LTAxLTAxVDAwOjAwOjAwKzAwOjAwIiwgMSwgMV0",  # numbers
        cursor("2026-01-01T00:00:00+00:00", "x", False, "2026-01-01T00:00:00"),  # a bound without an offset
        cursor("2026-01-01T00:00:00+00:00", "x", False, 1),
        cursor("2026-01-01T00:00:00+00:00", "x", False, *["2026-01-01T00:00:00+00:00"] * 2),
    ],
)
def test_an_invalid_cursor_is_refused(client, user_group, cursor):
    call = caller(client, user_group, "list_user_groups")
    call.url += f"?cursor={cursor}"

    response = call()

    assert response.status_code == 400
    assert [(error["attr"], error["code"]) for error in response.json()["errors"]] == [("cursor", "invalid")]
