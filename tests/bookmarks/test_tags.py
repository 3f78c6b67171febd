"""The tags and the notes of bookmarks."""

import sys
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import serializers

from bookmarks.models import Bookmark
from bookmarks.tags import distinct
from tests.answers import detail, errors
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from usergroups.api import pagination

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


LONGEST = {"tags": [], "note": "\U0001f600\n" * 5000}


@pytest.mark.parametrize(
    "values", [TAGGED, EMPTY, LONGEST], ids=["tagged", "empty", "10,000 characters"]
)
def test_tags_and_a_note_are_stored_and_returned(create_bookmark, values):
    response = create_bookmark({"url": URL, **values})

    assert values_of(response.json()["bookmark"]) == values
    assert stored_values() == values


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ([" a ", "\u3000b\n"], ["a", "b"]),
        (["Ab", "c", "aB", "AB ", "c"], ["Ab", "c"]),
        (["Ü", "ü"], ["Ü"]),
        (["straße", "strasse"], ["straße", "strasse"]),
        (["e\u0301", "\xe9"], ["e\u0301", "\xe9"]),
        ([f" {'x' * 100} "], ["x" * 100]),
        ([*map(str, range(50))], [*map(str, range(50))]),
        (["a\u2028b"], ["a\u2028b"]),
    ],
)
def test_tags_are_trimmed_and_distinct_in_their_order(create_bookmark, sent, stored):
    create_bookmark({"url": URL, "tags": sent})

    assert Bookmark.objects.get().tags == stored


def test_every_way_to_write_a_bookmark_trims_its_tags(call_bookmarks, user_group):
    existing = BookmarkFactory(user_group=user_group)
    tags = [" a ", "A"]
    item = {"url": f"{URL}1", "tags": tags}

    call_bookmarks("PATCH", "bookmark", existing.pk, body={"tags": tags})
    call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": [item]})
    Bookmark.objects.add(user_group=user_group, url=f"{URL}2", tags=tags)

    assert [bookmark.tags for bookmark in Bookmark.objects.all()] == [["a"]] * 3


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
