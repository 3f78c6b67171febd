"""The tags and the notes of bookmarks."""

import sys
from contextlib import ExitStack
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import serializers

from bookmarks.models import Bookmark
from bookmarks.tags import distinct
from tests.answers import bookmark_json, detail, errors, listed
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.calls_in_progress import begin_call
from tests.signals import recorded
from usergroups.api import pagination
from usergroups.api.throttling import COSTLY_CALLS

pytestmark = pytest.mark.django_db

URL = "https://example.com/"
EMPTY = {"tags": [], "note": ""}
TAGGED = {"tags": ["Read later", "ü", "a,b"], "note": " One.\n\tTwo. \U0001f600\r\n"}


@pytest.fixture
def bookmark(user_group):
    return BookmarkFactory(user_group=user_group, url=URL, **TAGGED)


def values_of(shown):
    """Return the tags and the note of a bookmark in a response."""
    return {name: shown[name] for name in EMPTY}


def stored_values():
    return Bookmark.objects.values("tags", "note").get()


# Writes


@pytest.mark.parametrize("values", [TAGGED, EMPTY], ids=["tagged", "empty"])
def test_tags_and_a_note_are_stored_and_returned(create_bookmark, values):
    response = create_bookmark({"url": URL, **values})

    assert values_of(response.json()["bookmark"]) == values
    assert stored_values() == values


def test_a_bookmark_has_no_tags_and_no_note_by_default(create_bookmark):
    response = create_bookmark({"url": URL})

    assert values_of(response.json()["bookmark"]) == EMPTY
    assert stored_values() == EMPTY


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ([" a ", "\u3000b\n"], ["a", "b"]),
        (["Ab", "c", "aB", "AB ", "c"], ["Ab", "c"]),
        (["Ü", "ü"], ["Ü"]),
        (["straße", "strasse"], ["straße", "strasse"]),
        (["e\u0301", "\xe9"], ["e\u0301", "\xe9"]),
        ([f" {'x' * 100} "], ["x" * 100]),
        (
            [str(number) for number in range(50)],
            [str(number) for number in range(50)],
        ),
        (["a\u2028b"], ["a\u2028b"]),
    ],
    ids=[
        "white space",
        "letter case",
        "not ASCII",
        "other letters",
        "other characters",
        "longest",
        "most",
        "line separator",
    ],
)
@pytest.mark.parametrize("operation", ["POST", "batch", "PATCH", "Python"])
def test_tags_are_trimmed_and_distinct_in_their_order(
    call_bookmarks, user_group, operation, sent, stored
):
    existing = BookmarkFactory(user_group=user_group)
    new = {"url": URL, "tags": sent}
    operations = {
        "POST": lambda: call_bookmarks("POST", "bookmarks", body=new),
        "batch": lambda: call_bookmarks(
            "POST", "bookmarks-batch", body={"bookmarks": [new]}
        ),
        "PATCH": lambda: call_bookmarks("PATCH", "bookmark", existing.pk, body=new),
        "Python": lambda: Bookmark.objects.add(user_group=user_group, **new),
    }

    operations[operation]()

    assert Bookmark.objects.get(url=URL).tags == stored


@pytest.mark.parametrize(
    ("tags", "error"),
    [
        (["a", 1], ("tags.1", "invalid")),
        ([None], ("tags.0", "null")),
        ([["a"]], ("tags.0", "invalid")),
        ([""], ("tags.0", "blank")),
        (["a", "b", " \t "], ("tags.2", "blank")),
        (["x" * 101], ("tags.0", "max_length")),
        (["a\nb"], ("tags.0", "invalid")),
        (["a\tb"], ("tags.0", "invalid")),
        (["a\x7fb"], ("tags.0", "invalid")),
        (["a\x85b"], ("tags.0", "invalid")),
    ],
)
def test_an_invalid_tag_is_refused_with_its_place(create_bookmark, tags, error):
    response = create_bookmark({"url": URL, "tags": tags})

    assert errors(response) == [error]
    assert not Bookmark.objects.exists()


def test_too_many_tags_are_refused_before_they_are_validated(create_bookmark):
    response = create_bookmark({"url": URL, "tags": [1] * 100_000})

    assert errors(response) == [("tags", "max_length")]
    assert "50" in detail(response)


def test_a_note_may_have_10_000_characters(create_bookmark):
    note = "\U0001f600\n" * 5000

    response = create_bookmark({"url": URL, "note": note})

    assert response.json()["bookmark"]["note"] == note


@pytest.mark.parametrize("name", ["bookmarks", "bookmarks-batch"])
def test_an_existing_bookmark_keeps_its_tags_and_note(call_bookmarks, bookmark, name):
    new = {"url": URL, "tags": ["other"], "note": "Other."}
    body = new if name == "bookmarks" else {"bookmarks": [new]}

    response = call_bookmarks("POST", name, body=body)

    assert response.status_code == 200
    assert stored_values() == TAGGED


def test_a_batch_stores_the_tags_and_notes_of_each_item(call_bookmarks, user_group):
    items = [
        {"url": f"{URL}1", **TAGGED},
        {"url": f"{URL}2"},
        {"url": f"{URL}3", "tags": [1]},
        {"url": f"{URL}4", "tags": ["b", "B"], "note": '"\\'},
    ]

    response = call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": items})

    results = response.json()["results"]
    assert [result["status"] for result in results] == [201, 201, 400, 201]
    assert [error["attr"] for error in results[2]["errors"]] == ["tags.0"]
    expected = [TAGGED, EMPTY, {"tags": ["b"], "note": '"\\'}]
    created = [result["bookmark"] for result in results if result["success"]]
    assert [values_of(each) for each in created] == expected
    stored = Bookmark.objects.order_by("url").values("tags", "note")
    assert list(stored) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, TAGGED),
        ({"title": "New"}, TAGGED),
        ({"tags": []}, {**TAGGED, "tags": []}),
        ({"tags": ["c"]}, {**TAGGED, "tags": ["c"]}),
        ({"note": ""}, {**TAGGED, "note": ""}),
        ({"tags": ["x", "X"], "note": "New."}, {"tags": ["x"], "note": "New."}),
    ],
)
def test_a_change_replaces_what_it_has(call_bookmarks, bookmark, changes, expected):
    response = call_bookmarks("PATCH", "bookmark", bookmark.pk, body=changes)

    assert values_of(response.json()["bookmark"]) == expected
    assert stored_values() == expected


@pytest.mark.parametrize("name", ["tags", "note"])
def test_null_is_no_value_of_a_change(call_bookmarks, bookmark, name):
    response = call_bookmarks("PATCH", "bookmark", bookmark.pk, body={name: None})

    assert errors(response) == [(name, "null")]
    assert stored_values() == TAGGED


def test_tags_that_become_the_stored_ones_change_nothing(call_bookmarks, bookmark):
    sent = [*TAGGED["tags"], " READ LATER "]

    with recorded() as signals:
        response = call_bookmarks("PATCH", "bookmark", bookmark.pk, body={"tags": sent})

    assert response.json()["bookmark"] == bookmark_json(bookmark)
    assert signals == []


def test_a_move_keeps_and_returns_tags_and_note(call_bookmarks, bookmark):
    collection = CollectionFactory(user_group=bookmark.user_group)
    body = {"ids": [str(bookmark.pk)], "collection": str(collection.pk)}

    response = call_bookmarks("POST", "bookmarks-batch-move", body=body)

    [result] = response.json()["results"]
    assert values_of(result["bookmark"]) == TAGGED


def test_an_outer_join_that_finds_no_bookmark_has_no_tags(user_group):
    groups = type(user_group).objects.filter(pk=user_group.pk)

    assert groups.values_list("bookmarks__tags", flat=True).get() is None


@pytest.mark.parametrize("name", ["json", "jsonl", "xml"])
def test_a_fixture_keeps_tags_and_note(name, user_group):
    values = {**TAGGED, "note": "One.\nTwo."}
    bookmark = BookmarkFactory(user_group=user_group, **values)

    text = serializers.serialize(name, [bookmark])
    [loaded] = serializers.deserialize(name, text)

    assert (loaded.object.tags, loaded.object.note) == (values["tags"], values["note"])


# Lists


def found(call_bookmarks, **query):
    """Return the titles of the bookmarks that a list finds."""
    response = call_bookmarks("GET", "bookmarks", query=query)
    assert response.status_code == 200
    return [bookmark["title"] for bookmark in response.json()["bookmarks"]]


@pytest.mark.parametrize(
    ("tags", "titles"),
    [
        (["work"], ["3", "2", "1"]),
        (["WORK", "to read"], ["3", "2"]),
        (["Überblick"], ["3"]),
        (["ÜBERBLICK", "work", "Work"], ["3"]),
        ([" work "], ["3", "2", "1"]),
        (["wor"], []),
        (["ork"], []),
        (["to"], []),
        (["%"], []),
        (["w_rk"], []),
        (["work", "other"], []),
        (["50%"], ["1"]),
    ],
)
def test_a_list_finds_the_bookmarks_with_all_tags(
    call_bookmarks, user_group, tags, titles
):
    BookmarkFactory(title="foreign", tags=["work", "to read", "überblick", "50%"])
    lists = [[], ["work", "50%"], ["To read", "Work"], ["überblick", "to read", "WORK"]]
    for number, each in enumerate(lists):
        BookmarkFactory(user_group=user_group, title=str(number), tags=each)

    assert found(call_bookmarks, tag=tags) == titles


PAIRS = [
    (character.lower(), character)
    for character in map(chr, range(sys.maxunicode + 1))
    if character.lower().upper() == character != character.lower()
]
"""The letters of Unicode that have two cases: the small and the capital ones."""


@pytest.mark.parametrize("change", [list, reversed], ids=["small", "capital"])
def test_every_letter_is_found_by_its_other_case(call_bookmarks, user_group, change):
    for start in range(0, len(PAIRS), 100):
        letters = zip(*PAIRS[start : start + 100], strict=True)
        sought, stored = map("".join, change([*letters]))
        tags = distinct([stored, sought])
        BookmarkFactory(user_group=user_group, title=stored, tags=tags)

        assert tags == [stored]
        assert found(call_bookmarks, q=sought) == [stored]
        assert found(call_bookmarks, tag=sought) == [stored]

    assert len(PAIRS) > 1_300


def test_the_position_of_a_sigma_does_not_matter(call_bookmarks, user_group):
    BookmarkFactory(user_group=user_group, title="ΘΕΟΣΟΦΙΑ", tags=["ΟΔΟΣ"])

    assert found(call_bookmarks, q="ΘΕΟΣ") == ["ΘΕΟΣΟΦΙΑ"]
    assert found(call_bookmarks, q="θεος") == ["ΘΕΟΣΟΦΙΑ"]
    assert found(call_bookmarks, tag="οδος") == ["ΘΕΟΣΟΦΙΑ"]
    assert distinct(["οδος", "ΟΔΟΣ", "οδοσ"]) == ["οδος"]


def test_the_filter_by_tag_combines_with_the_others(call_bookmarks, user_group):
    collection = CollectionFactory(user_group=user_group)
    place = {"user_group": user_group, "tags": ["a"]}
    BookmarkFactory(title="1", **place)
    BookmarkFactory(title="2", collection=collection, **place)
    BookmarkFactory(title="3", collection=collection, note="Needle.", **place)
    BookmarkFactory(title="4", note="Needle.", user_group=user_group)

    assert found(call_bookmarks, tag="a", collection=collection.pk) == ["3", "2"]
    assert found(call_bookmarks, tag="a", q="needle") == ["3"]
    assert found(call_bookmarks, tag="a", order="oldest") == ["1", "2", "3"]


@pytest.mark.parametrize("text", ["read LATER", "TWO", "one.\n\ttwo"])
def test_the_search_finds_parts_of_tags_and_notes(call_bookmarks, bookmark, text):
    BookmarkFactory(user_group=bookmark.user_group)

    response = call_bookmarks("GET", "bookmarks", query={"q": text})

    assert response.json()["bookmarks"] == [listed(bookmark_json(bookmark), bookmark)]


def test_the_search_does_not_find_two_tags_as_one_text(call_bookmarks, bookmark):
    # Tags are stored like this.
    text = "\n".join(bookmark.tags[:2])

    response = call_bookmarks("GET", "bookmarks", query={"q": text})

    assert response.json()["bookmarks"] == []


@pytest.mark.parametrize(
    ("tags", "error"),
    [
        ([""], ("tag.0", "blank")),
        (["a", " "], ("tag.1", "blank")),
        (["x" * 101], ("tag.0", "max_length")),
        (["a\nb"], ("tag.0", "invalid")),
        (["a"] * 51, ("tag", "max_length")),
    ],
)
def test_an_invalid_filter_by_tag_is_refused(call_bookmarks, tags, error):
    response = call_bookmarks("GET", "bookmarks", query={"tag": tags})

    assert errors(response) == [error]


def test_the_links_of_a_list_have_all_tags(call_bookmarks, user_group, monkeypatch):
    # Each page scans one bookmark.
    monkeypatch.setattr(pagination, "MAX_SCANNED", 1)
    for tags in (["a", "b&c=d"], ["a"], ["a", "b&c=d"]):
        BookmarkFactory(user_group=user_group, tags=tags)

    query = {"tag": ["A", "B&C=D"], "limit": 1}
    pages = [call_bookmarks("GET", "bookmarks", query=query).json()]
    while pages[-1]["next"]:
        query = parse_qs(urlsplit(pages[-1]["next"]).query)
        pages.append(call_bookmarks("GET", "bookmarks", query=query).json())

    assert [len(page["bookmarks"]) for page in pages] == [1, 0, 1]


@pytest.mark.parametrize("query", [{"q": "a"}, {"tag": "a"}], ids=["q", "tag"])
def test_a_page_of_a_search_scans_a_limited_amount_of_tags_and_notes(
    call_bookmarks, user_group, monkeypatch, query
):
    monkeypatch.setattr(pagination, "MAX_SCANNED_SIZE", 10_000)
    tags = [f"{number:02}".ljust(90, "x") for number in range(49)]
    for number in range(3):
        BookmarkFactory(
            user_group=user_group, url=f"{URL}{number}", tags=[*tags, "a"], note="a"
        )

    page = call_bookmarks("GET", "bookmarks", query=query).json()

    assert len(page["bookmarks"]) == 2
    assert page["next"] is not None


def test_lists_by_tag_are_limited_per_team(call_bookmarks, user_group):
    with ExitStack() as calls_in_progress:
        for _ in range(COSTLY_CALLS.per_owner):
            begin_call(calls_in_progress, COSTLY_CALLS, user_group.team_id)
        refused = call_bookmarks("GET", "bookmarks", query={"tag": "a"})

    assert refused.status_code == 429
    assert call_bookmarks("GET", "bookmarks", query={"tag": "a"}).status_code == 200
