"""The change of a bookmark, the list, and the batch that creates bookmarks."""

from contextlib import ExitStack
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.db import IntegrityError, connection
from django.urls import reverse
from django.utils import timezone

from bookmarks.models import Bookmark, Collection
from tests.answers import bookmark_json, changes, detail, errors, etag_of, statuses
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.calls_in_progress import begin_call
from tests.queries import concurrently
from usergroups.api import pagination
from usergroups.api.throttling import COSTLY_CALLS

URL = "https://example.com/"


@pytest.fixture
def bookmark(user_group):
    return BookmarkFactory(
        user_group=user_group, url=URL, title="A title", tags=["A", "b"], note="N"
    )


# Titles


@pytest.mark.parametrize(
    "title", ["", " spaced ", "ü\N{GRINNING FACE}", "a" * 1000, "e\u0301\n"]
)
def test_titles_come_back_as_they_were_sent(create_bookmark, title):
    response = create_bookmark({"url": URL, "title": title})

    assert response.json()["bookmark"]["title"] == title


# One bookmark


def test_a_new_bookmark_can_be_read_at_its_location(create_bookmark, api_client):
    response = create_bookmark({"url": URL})

    authorization = f"Bearer {create_bookmark.token.secret}"
    read = api_client.get(response["Location"], HTTP_AUTHORIZATION=authorization)
    assert read.json()["bookmark"] == response.json()["bookmark"]


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "New"},
        {"title": ""},
        {"url": "https://example.org/"},
        {"url": "HTTPS://EXAMPLE.COM"},
        {"tags": []},
        {"tags": ["c"]},
        {"note": ""},
        {"note": "New.\n", "tags": ["b", "A"]},
    ],
)
def test_an_update_changes_only_the_given_fields(call_bookmarks, bookmark, changes):
    read_only = {"id": "x", "created_at": 1}
    response = call_bookmarks(
        "PATCH", "bookmark", bookmark.pk, body={**changes, **read_only}
    )

    stored = Bookmark.objects.get()
    assert (response.status_code, response.json()) == (
        200,
        {"success": 1, "bookmark": bookmark_json(stored)},
    )
    assert bookmark_json(stored) == {
        **bookmark_json(bookmark),
        **changes,
        "updated_at": response.json()["bookmark"]["updated_at"],
    }
    assert stored.updated_at > bookmark.updated_at


@pytest.mark.parametrize("name", ["url", "title", "tags", "note"])
def test_null_is_no_value_of_a_change(call_bookmarks, bookmark, name):
    response = call_bookmarks("PATCH", "bookmark", bookmark.pk, body={name: None})

    assert errors(response) == [(name, "null")]


def test_after_a_change_of_its_url_a_bookmark_is_found_only_by_the_new_one(
    call_bookmarks, create_bookmark, bookmark
):
    new = {"url": "https://example.org/"}
    call_bookmarks("PATCH", "bookmark", bookmark.pk, body=new)

    again = create_bookmark({"url": "HTTPS://example.ORG"}).json()["bookmark"]
    assert again["id"] == str(bookmark.pk)
    assert create_bookmark({"url": URL}).status_code == 201
    found = call_bookmarks("GET", "bookmarks", query={"url": "https://example.org"})
    assert [each["id"] for each in found.json()["bookmarks"]] == [str(bookmark.pk)]


def location_of(bookmark):
    return reverse("bookmarks:bookmark", args=[bookmark.pk])


def test_changing_a_url_to_a_duplicate_is_a_conflict(
    call_bookmarks, user_group, bookmark, collection
):
    other = BookmarkFactory(user_group=user_group, url="https://example.org/")
    # Neither is a duplicate: one is in a collection, and the other belongs to
    # another group.
    BookmarkFactory(
        user_group=user_group, url="https://example.net/", collection=collection
    )
    BookmarkFactory(url="https://example.net/")

    new = {"url": "HTTPS://EXAMPLE.com", "title": "New"}
    response = call_bookmarks("PATCH", "bookmark", other.pk, body=new)

    assert errors(response, 409) == [("url", "already_exists")]
    assert response["Location"] == location_of(bookmark)
    assert response.json()["errors"][0]["existing"] == str(bookmark.pk)
    assert bookmark_json(Bookmark.objects.get(pk=other.pk)) == bookmark_json(other)
    free = {"url": "https://example.net/"}
    assert call_bookmarks("PATCH", "bookmark", other.pk, body=free).status_code == 200


def test_a_url_and_a_collection_are_changed_at_once(
    call_bookmarks, user_group, bookmark, collection
):
    # which the new URL alone would duplicate
    BookmarkFactory(user_group=user_group, url="https://example.org/")
    changes = {"url": "https://example.org/", "collection": str(collection.pk)}

    response = call_bookmarks("PATCH", "bookmark", bookmark.pk, body=changes)

    assert response.status_code == 200
    assert {name: response.json()["bookmark"][name] for name in changes} == changes


def test_moving_a_bookmark_to_where_its_url_already_is_conflicts(
    call_bookmarks, user_group, collection
):
    outside = BookmarkFactory(user_group=user_group, url="HTTPS://EXAMPLE.com")
    inside = BookmarkFactory(user_group=user_group, url=URL, collection=collection)
    inwards = {"collection": str(collection.pk), "title": "New"}
    outwards = {"collection": None, "title": "New"}

    for moved, change, duplicate in (
        (outside, inwards, inside),
        (inside, outwards, outside),
    ):
        response = call_bookmarks("PATCH", "bookmark", moved.pk, body=change)

        assert errors(response, 409) == [("collection", "already_exists")]
        assert response["Location"] == location_of(duplicate)
        assert response.json()["errors"][0]["existing"] == str(duplicate.pk)
        assert response.json()["type"] == "client_error"
        assert bookmark_json(Bookmark.objects.get(pk=moved.pk)) == bookmark_json(moved)


# The list


def follow(call_bookmarks, link):
    """Return the page to which the link of another page refers."""
    return call_bookmarks(
        "GET", "bookmarks", query=dict(parse_qsl(urlsplit(link).query))
    ).json()


@pytest.mark.parametrize("name", ["collection", "created_since"])
def test_a_list_by_time_of_change_takes_filters_without_an_index(
    call_bookmarks, user_group, collection, name
):
    now = timezone.now()
    long_ago = now - timedelta(days=9)
    found = BookmarkFactory(user_group=user_group)
    BookmarkFactory(user_group=user_group, updated_at=long_ago)
    BookmarkFactory(
        user_group=user_group,
        collection=collection,
        created_at=long_ago,
        updated_at=timezone.now(),
    )
    filters = {"collection": "", "created_since": now.isoformat()}
    query = {"updated_since": now.isoformat(), name: filters[name]}

    page = call_bookmarks("GET", "bookmarks", query=query)

    assert urls_of(page) == {found.url}


def urls_of(response):
    assert response.status_code == 200
    return {bookmark["url"] for bookmark in response.json()["bookmarks"]}


def test_bookmarks_are_filtered_by_collection(call_bookmarks, bookmark, collection):
    inside = BookmarkFactory(user_group=bookmark.user_group, collection=collection)

    for key, found in ((collection.pk, inside), ("", bookmark)):
        page = call_bookmarks("GET", "bookmarks", query={"collection": key})
        assert urls_of(page) == {found.url}


def test_a_cursor_stays_valid_when_its_collection_is_renamed(
    call_bookmarks, user_group, collection
):
    BookmarkFactory.create_batch(2, user_group=user_group, collection=collection)
    query = {"collection": str(collection.pk), "limit": 1}
    first = call_bookmarks("GET", "bookmarks", query=query).json()
    Collection.objects.update(name="Renamed")

    query["cursor"] = first["next_cursor"]
    second = call_bookmarks("GET", "bookmarks", query=query).json()

    ids = [page["bookmarks"][0]["id"] for page in (first, second)]
    assert len(set(ids)) == 2


def test_bookmarks_are_filtered_by_url(call_bookmarks, bookmark, collection):
    BookmarkFactory(user_group=bookmark.user_group)
    BookmarkFactory(user_group=bookmark.user_group, url=URL, collection=collection)
    BookmarkFactory(url=URL)  # of another group

    query = {"url": "HTTPS://EXAMPLE.COM:443"}
    found = call_bookmarks("GET", "bookmarks", query=query).json()["bookmarks"]

    assert [each["url"] for each in found] == [URL, URL]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"url": "x"}, ("url", "invalid")),
        ({"url": ""}, ("url", "blank")),
        ({"collection": "x"}, ("collection", "does_not_exist")),
        ({"created_since": "yesterday"}, ("created_since", "invalid")),
        ({"created_since": "2026-01-31"}, ("created_since", "invalid")),
        ({"created_since": "2026-01-31T09:26:53"}, ("created_since", "no_offset")),
        # no seconds, and a week
        ({"updated_since": "2026-01-31T09:26Z"}, ("updated_since", "invalid")),
        ({"updated_since": "2026-W05-6T09Z"}, ("updated_since", "invalid")),
        ({"updated_since": "2026-01-31T09:26:53"}, ("updated_since", "no_offset")),
        (
            {"created_since": "0001-01-01T00:00:00+14:00"},
            ("created_since", "overflow"),
        ),
        ({"tag": [""]}, ("tag.0", "blank")),
        ({"tag": ["a", " "]}, ("tag.1", "blank")),
        ({"tag": ["x" * 101]}, ("tag.0", "max_length")),
        ({"tag": ["a\nb"]}, ("tag.0", "invalid")),
        ({"tag": ["a"] * 51}, ("tag", "max_length")),
        ({"q": ""}, ("q", "blank")),
        ({"q": "a" * 101}, ("q", "max_length")),
        ({"limit": "5.0"}, ("limit", "invalid")),
        ({"limit": "1e1"}, ("limit", "invalid")),
        ({"limit": "\N{ARABIC-INDIC DIGIT FIVE}"}, ("limit", "invalid")),
        ({"limit": ""}, ("limit", "invalid")),
        ({"order": "title"}, ("order", "invalid_choice")),
        ({"cursor": "x"}, ("cursor", "invalid")),
        ({"cursor": ""}, ("cursor", "blank")),
    ],
)
def test_invalid_queries_are_refused(call_bookmarks, query, error):
    assert errors(call_bookmarks("GET", "bookmarks", query=query)) == [error]


@pytest.mark.parametrize("name", ["created_since", "updated_since"])
def test_an_unescaped_plus_in_a_time_is_explained(call_bookmarks, name):
    """In a query string, it stands for a space."""
    time = "2026-01-31T09:26:53{}01:00"
    query = {name: time.format(" ")}
    response = call_bookmarks("GET", "bookmarks", query=query)

    assert errors(response) == [(name, "invalid")]
    problem = "Not a date and time like 2026-01-31T09:26:53Z. In a URL, write + as %2B."
    assert detail(response) == problem
    query = {name: time.format("+")}
    assert call_bookmarks("GET", "bookmarks", query=query).status_code == 200


def test_bookmarks_are_filtered_by_time_of_creation(call_bookmarks, user_group):
    now = timezone.now()
    BookmarkFactory(user_group=user_group, created_at=now - timedelta(seconds=1))
    new = BookmarkFactory(user_group=user_group, created_at=now)

    for since in (now.isoformat(), now.isoformat().replace("+00:00", "Z")):
        page = call_bookmarks("GET", "bookmarks", query={"created_since": since})
        assert urls_of(page) == {new.url}


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("EXAMPLE.com/a", True),
        ("münchen", True),
        ("MÜNCHEN", True),
        ("50%", True),
        ("(a|b)", True),
        ("a_b", False),
        (".*", False),
        ("nowhere", False),
        ("\\d", False),
        ("***:x", False),  # as a regular expression of PostgreSQL, the same as "x"
        ("read LATER", True),
        ("one.\n\ttwo", True),
        ("Read later\nü", False),  # Tags are stored like this.
    ],
)
def test_the_search_finds_parts_of_texts_and_tags(
    call_bookmarks, user_group, text, is_found
):
    """Case is ignored, and the special characters of LIKE and of regular
    expressions stand for themselves.
    """
    bookmark = BookmarkFactory(
        user_group=user_group,
        url="https://example.com/A/b",
        title="München (a|b) 50%",
        tags=["Read later", "ü"],
        note="One.\n\tTwo.",
    )
    BookmarkFactory(user_group=user_group)
    BookmarkFactory(title=text)  # of another group

    found_urls = urls_of(call_bookmarks("GET", "bookmarks", query={"q": text}))

    assert (bookmark.url in found_urls) == is_found
    assert found_urls <= {bookmark.url}


@pytest.mark.parametrize(
    ("query", "status"), [({"q": "x"}, 429), ({"tag": "x"}, 429), ({}, 200)]
)
def test_only_searches_of_the_list_are_costly(
    call_bookmarks, user_group, query, status
):
    with ExitStack() as calls_in_progress:
        for _ in range(COSTLY_CALLS.per_owner):
            begin_call(calls_in_progress, COSTLY_CALLS, user_group.team_id)

        assert call_bookmarks("GET", "bookmarks", query=query).status_code == status


@pytest.mark.parametrize(
    ("max_size", "per_page"),
    [(250, [2, 2, 1]), (1, [1] * 5)],
    ids=["limited", "at least one"],
)
def test_a_page_of_a_search_scans_a_limited_amount_of_text(
    call_bookmarks, user_group, monkeypatch, max_size, per_page
):
    """The bookmarks have 100 bytes, of which the title, the tags and the note
    have 20 each.
    """
    monkeypatch.setattr(pagination, "MAX_SCANNED_SIZE", max_size)
    text = "b" * 20
    for number in range(5):
        BookmarkFactory(
            user_group=user_group,
            url=f"{URL}{number}".ljust(40, "a"),
            title=text,
            tags=[text],
            note=text,
        )

    pages = [call_bookmarks("GET", "bookmarks", query={"q": URL}).json()]
    while pages[-1]["next"]:
        pages.append(follow(call_bookmarks, pages[-1]["next"]))

    assert [len(page["bookmarks"]) for page in pages] == per_page


def test_the_links_of_a_search_lead_forward_and_back_over_empty_pages(
    call_bookmarks, user_group, monkeypatch
):
    monkeypatch.setattr(pagination, "MAX_SCANNED", 1)  # Each page scans one bookmark.
    for number, title in enumerate(["match", "other", "other", "match", "other"]):
        BookmarkFactory(
            user_group=user_group, url=f"https://example.com/{number}", title=title
        )

    pages = [call_bookmarks("GET", "bookmarks", query={"q": "match"}).json()]
    while pages[-1]["next"]:
        pages.append(follow(call_bookmarks, pages[-1]["next"]))
    back = [pages[-1]]
    while back[-1]["previous"]:
        back.append(follow(call_bookmarks, back[-1]["previous"]))

    found = [bookmark["id"] for page in pages for bookmark in page["bookmarks"]]
    assert found == [
        bookmark["id"] for page in reversed(back) for bookmark in page["bookmarks"]
    ]
    assert len(found) == 2


# POST v1/bookmarks/batch


def test_a_batch_reports_the_result_of_each_item(call_bookmarks, bookmark, collection):
    of_another_group = CollectionFactory()
    items = [
        {"url": "https://example.org/", "title": "New"},
        {"url": "https://EXAMPLE.com"},  # exists
        {"url": "https://example.org/", "collection": str(collection.pk)},
        {"url": "HTTPS://example.org", "title": "Other"},  # has just been created
        {"url": "https://example.net/", "collection": str(of_another_group.pk)},
        {},
        "text",
    ]

    response = call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": items})

    new = Bookmark.objects.get(collection=None, title="New")
    inside = Bookmark.objects.get(collection=collection)
    results = response.json()["results"]
    answered_group = response.json()["user_group"]
    assert answered_group["provided_id"] == bookmark.user_group.provided_id
    assert statuses(response) == [201, 200, 201, 200, 400, 400, 400]
    assert changes(response) == [True, False, True, *[False] * 4]
    for result, row in ((results[0], new), (results[1], bookmark)):
        assert result == {
            "status": 201 if row == new else 200,
            "success": 1,
            "changed": row == new,
            "updated_at": bookmark_json(row)["updated_at"],
            "etag": etag_of(row.updated_at),
            "bookmark": bookmark_json(row),
        }
    assert results[2]["bookmark"] == bookmark_json(inside)
    assert results[3]["bookmark"] == bookmark_json(new)
    assert [error["attr"] for error in results[4]["errors"]] == ["collection"]
    assert [result["errors"][0]["attr"] for result in results[5:]] == ["url", None]
    assert Bookmark.objects.count() == 3


def test_a_batch_creates_bookmarks_in_the_order_of_its_items(call_bookmarks):
    items = [{"url": f"{URL}{n}"} for n in range(20)]

    call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": items})

    listed = call_bookmarks("GET", "bookmarks").json()["bookmarks"]
    assert [{"url": each["url"]} for each in reversed(listed)] == items


def test_a_batch_may_name_many_collections(call_bookmarks, user_group):
    """A query with a condition for each of 1,000 collections would fail on
    SQLite.
    """
    collections = Collection.objects.bulk_create(
        Collection(user_group=user_group, name=str(number)) for number in range(1000)
    )
    Bookmark.objects.bulk_create(
        Bookmark(user_group=user_group, url=URL, collection=collection)
        for collection in collections
    )
    keys = [str(collection.pk) for collection in collections]
    items = [{"url": URL, "collection": key} for key in keys]

    response = call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": items})

    results = response.json()["results"]
    assert statuses(response) == [200] * 1000
    assert [result["bookmark"]["collection"] for result in results] == keys


# Conflicts


@pytest.mark.django_db(transaction=True)
def test_a_bookmark_cannot_be_moved_into_a_concurrently_deleted_collection(
    call_bookmarks, bookmark, collection
):
    place = {"collection": str(collection.pk)}

    # right before the UPDATE
    with concurrently("UPDATE", collection.delete):
        response = call_bookmarks("PATCH", "bookmark", bookmark.pk, body=place)

    assert errors(response) == [("collection", "does_not_exist")]
    assert Bookmark.objects.get().collection is None


@pytest.mark.django_db(transaction=True)
def test_a_concurrently_deleted_collection_fails_only_its_items_of_a_batch(
    call_bookmarks, collection
):
    items = [{"url": URL}, {"url": URL, "collection": str(collection.pk)}]

    # right before the INSERT
    with concurrently("INSERT", "DELETE FROM bookmarks_collection"):
        response = call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": items})

    assert statuses(response) == [201, 400]


@pytest.mark.django_db(transaction=True)
def test_a_batch_has_four_attempts_in_all(call_bookmarks):
    """The call and the method that it calls both retry conflicts."""
    attempts = []

    def conflict(execute, sql, params, many, context):
        if 'INTO "bookmarks_bookmark"' in sql:
            attempts.append(sql)
            raise IntegrityError
        return execute(sql, params, many, context)

    with connection.execute_wrapper(conflict):
        response = call_bookmarks(
            "POST", "bookmarks-batch", body={"bookmarks": [{"url": URL}]}
        )

    assert response.status_code == 500
    assert len(attempts) == 4


def test_a_call_may_be_repeated_that_loses_each_attempt_against_a_deletion(
    create_bookmark, bookmark
):
    attempts = []

    def lose(execute, sql, params, many, context):
        if sql.startswith("INSERT"):
            attempts.append(sql)
        result = execute(sql, params, many, context)
        if sql.startswith("SELECT") and attempts:
            nothing = f"SELECT * FROM ({sql}) deleted WHERE 1 = 0"
            return execute(nothing, params, many, context)
        return result

    with connection.execute_wrapper(lose):
        response = create_bookmark({"url": bookmark.url})

    assert errors(response, 503) == [(None, "service_unavailable")]
    assert response["Retry-After"] == "5"
    assert len(attempts) == 4


@pytest.mark.django_db(transaction=True)
def test_a_batch_finds_duplicates_by_the_stored_digest(call_bookmarks, bookmark):
    """Another release of can_ada, which serializes URLs, may give another
    digest for a stored URL.
    """
    Bookmark.objects.update(url="https://example.com/not-the-url-of-the-digest")
    body = {"bookmarks": [{"url": URL}]}

    [result] = call_bookmarks("POST", "bookmarks-batch", body=body).json()["results"]

    assert result["bookmark"]["id"] == str(bookmark.pk)
