"""The list of tags, and their new names."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from bookmarks.models import Bookmark
from bookmarks.querysets import tags as tag_queries
from tests.answers import error_code, errors
from tests.bookmarks.factories import BookmarkFactory
from usergroups.api.throttling import Deadline

LISTS = [["b", "A"], ["B", "a", "ß"], ["a"], [], ["\N{GRINNING FACE}", "Überblick"]]
COUNTS = [("A", 3), ("B", 2), ("ß", 1), ("Überblick", 1), ("\N{GRINNING FACE}", 1)]


@pytest.fixture
def tagged(user_group):
    """Store a bookmark with each of the LISTS of tags."""
    BookmarkFactory(tags=["foreign", "a"])
    return [BookmarkFactory(user_group=user_group, tags=each) for each in LISTS]


@pytest.fixture
def pages(call_bookmarks):
    """Return a function that returns the page with these parameters."""

    def page(**query):
        response = call_bookmarks("GET", "tags", query=query)
        assert response.status_code == 200
        return response.json()

    return page


@pytest.fixture
def rename(call_bookmarks):
    return lambda tag, to: call_bookmarks(
        "POST", "tags-rename", body={"tag": tag, "to": to}
    )


def counted(page):
    return [(tag["name"], tag["count"]) for tag in page["tags"]]


def test_the_tags_are_listed_by_name_with_their_numbers(pages, tagged):
    page = pages()

    assert counted(page) == COUNTS
    assert (page["next"], page["previous"], page["next_cursor"]) == (None, None, None)


@pytest.mark.parametrize(
    ("prefix", "names"), [("Ü", ["Überblick"]), ("b", ["B"]), ("x", []), (".", [])]
)
def test_tags_are_found_by_prefix_in_any_letter_case(pages, tagged, prefix, names):
    assert [name for name, _ in counted(pages(prefix=prefix))] == names


def test_the_pages_lead_forward_and_back(pages, tagged):
    first = pages(limit=2)
    second = pages(limit=2, cursor=first["next_cursor"])
    third = pages(**dict(parse_qsl(urlsplit(second["next"]).query)))
    back = pages(**dict(parse_qsl(urlsplit(third["previous"]).query)))

    assert counted(first) + counted(second) + counted(third) == COUNTS
    assert counted(back) == counted(second)
    assert third["next"] is None
    assert first["previous"] is None


def test_the_page_after_deleted_tags_leads_back(pages, tagged):
    first = pages(limit=2)
    Bookmark.objects.exclude(pk=tagged[0].pk).delete()

    empty = pages(cursor=first["next_cursor"])
    back = pages(**dict(parse_qsl(urlsplit(empty["previous"]).query)))

    assert counted(empty) == []
    assert counted(back) == [("A", 1), ("b", 1)]


def test_many_tags_are_counted_in_little_memory(pages, tagged, monkeypatch):
    monkeypatch.setattr(tag_queries, "MAX_READ", 1)
    monkeypatch.setattr(tag_queries, "MAX_KEPT", 2)

    assert counted(pages(limit=1)) == COUNTS[:1]
    assert counted(pages()) == COUNTS


@pytest.mark.parametrize(
    ("names", "changed", "lists"),
    [
        (("A", "c"), 3, [["b", "c"], ["B", "c", "ß"], ["c"]]),
        (("a", "A"), 2, [["b", "A"], ["B", "A", "ß"], ["A"]]),
        (("a", "b"), 3, [["b"], ["B", "ß"], ["b"]]),
        (("b", " a "), 2, [["a"], ["a", "ß"], ["a"]]),
        (("a", None), 3, [["b"], ["B", "ß"], []]),
        (("x", "c"), 0, LISTS[:3]),
    ],
)
def test_a_tag_is_renamed_or_removed(rename, tagged, names, changed, lists):
    foreign = Bookmark.objects.earliest("created_at")
    before = [bookmark.updated_at for bookmark in tagged]

    response = rename(*names)

    assert response.json() == {"success": 1, "changed": changed}
    for bookmark in tagged:
        bookmark.refresh_from_db()
    assert [bookmark.tags for bookmark in tagged] == [*lists, *LISTS[3:]]
    after = [bookmark.updated_at for bookmark in tagged]
    assert sum(new > old for new, old in zip(after, before, strict=True)) == changed
    foreign.refresh_from_db()
    assert foreign.tags == ["foreign", "a"]


def test_a_renaming_that_takes_too_long_is_continued(rename, tagged, monkeypatch):
    monkeypatch.setattr(tag_queries, "MAX_RENAMED", 1)
    passed = iter([False, True])
    monkeypatch.setattr(Deadline, "has_passed", lambda self: next(passed, False))

    stopped = rename("a", "c")
    continued = rename("a", "c")

    assert error_code(stopped, 503) == "time_limit_exceeded"
    assert continued.json()["changed"] == 1
    assert rename("c", None).json()["changed"] == 3


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"tag": ""}, ("tag", "blank")),
        ({"tag": None}, ("tag", "null")),
        ({"to": "a\nb"}, ("to", "invalid")),
        ({"to": "x" * 101}, ("to", "max_length")),
        ({"to": 1}, ("to", "invalid")),
    ],
)
def test_an_invalid_tag_is_not_renamed(call_bookmarks, fields, error):
    body = {"tag": "a", "to": "b", **fields}

    assert errors(call_bookmarks("POST", "tags-rename", body=body)) == [error]
