"""The files in ``programs/``, written by hand in the formats of other
programs, are imported without losing a link.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from bookmarks.files import guess_format, read
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.imports import imported, refusals

PROGRAMS = Path(__file__).parent / "programs"

NEITHER_HTTP_NOR_HTTPS = "The URL is neither http nor https."
NO_SCHEME = "The URL has no scheme such as https://."
NO_URL = "The entry has no URL."


class Expected(NamedTuple):
    entries: int
    """The number of links or other entries in the file, including those that
    are refused.
    """
    imported: int
    """The number of bookmarks, which are several for a link in several lists."""
    refused: dict[int, str] = {}
    """The reason by line, or by the number of the entry."""
    left_out: dict[str, int] = {}
    """The number of bookmarks by the name of a value that is not imported."""
    collections: dict[str, int] = {}
    """The number of bookmarks by collection."""
    unusable_dates: int = 0


EXPECTED = {
    "chrome.html": Expected(
        6,
        4,
        {12: NEITHER_HTTP_NOR_HTTPS, 23: NEITHER_HTTP_NOR_HTTPS},
        {"icon": 1},
        {"Bookmarks bar": 2, "Bookmarks bar / Work / Reports": 1},
    ),
    "delicious.html": Expected(2, 2, {}, {"private": 1}),
    "diigo.html": Expected(2, 2, {}, {"private": 1}),
    "firefox.html": Expected(
        7,
        5,
        {12: NEITHER_HTTP_NOR_HTTPS, 23: NEITHER_HTTP_NOR_HTTPS},
        {
            "icon": 1,
            "shortcuturl": 1,
            "feedurl": 1,
        },
        {
            "Mozilla Firefox": 1,
            "Bookmarks Toolbar / News // Weather": 1,
            "Other Bookmarks": 1,
            "Nothing yet": 0,
        },
    ),
    "firefox_3.json": Expected(
        2,
        2,
        {},
        {},
    ),
    "google_bookmarks.html": Expected(
        3, 3, {}, {}, {"Unlabeled": 1, "to read": 1, "travel": 1}
    ),
    "icab.html": Expected(2, 2, {}, {}, {"Café": 2}),
    "instapaper.html": Expected(
        3, 3, {}, {}, {"Unread": 2, "Archive": 1, "Nothing": 0}
    ),
    "internet_explorer.html": Expected(
        4,
        2,
        {11: NEITHER_HTTP_NOR_HTTPS, 12: NEITHER_HTTP_NOR_HTTPS},
        {},
        {"Links": 1},
    ),
    "linkding.html": Expected(
        2,
        2,
        {},
        {"toread": 1, "private": 1},
    ),
    "mozilla.html": Expected(
        5,
        3,
        {14: NEITHER_HTTP_NOR_HTTPS, 15: NEITHER_HTTP_NOR_HTTPS},
        {
            "icon": 1,
            "post_data": 1,
            "web_panel": 1,
        },
        {"Mozilla Project": 2},
        unusable_dates=1,
    ),
    "netscape_4.html": Expected(
        3,
        2,
        {19: NEITHER_HTTP_NOR_HTTPS},
        {},
        {"Persönlich": 2},
    ),
    "netscape_4_japanese.html": Expected(1, 1, collections={"表示": 1}),
    "notes_with_markup.html": Expected(5, 5),
    "opera.html": Expected(
        3, 3, collections={"Bookmarks bar": 1, "Trash": 1, "Speed Dial": 1}
    ),
    "pinboard.html": Expected(
        2,
        2,
        {},
        {
            "private": 1,
            "toread": 1,
        },
    ),
    "pocket.html": Expected(4, 4, {}, {}, {"Unread": 2, "Read Archive": 2}),
    "raindrop.html": Expected(
        2,
        2,
        {},
        {
            "data-cover": 1,
            "data-important": 1,
        },
        {"Recipes": 1, "Recipes / Cakes": 1},
    ),
    "safari.html": Expected(
        3,
        3,
        collections={
            "Favorites": 1,
            "Favorites / Inner": 1,
            "Bookmarks Menu": 0,
            "Reading List": 1,
        },
    ),
    "shaarli.html": Expected(
        3,
        2,
        {14: NO_SCHEME},
        {
            "private": 1,
        },
    ),
    "export_for_browsers.jsonl": Expected(3, 3),
    "yandex.html": Expected(2, 2, {}, {"icon": 1}, {"Панель закладок": 2}),
    "chrome.json": Expected(
        3,
        3,
        {},
        {},
        {
            "Bookmarks bar": 1,
            "Bookmarks bar / A folder": 1,
            "Bookmarks bar / Empty": 0,
        },
    ),
    "firefox.json": Expected(
        4,
        3,
        {2: NEITHER_HTTP_NOR_HTTPS},
        {"annos": 1, "keyword": 1},
        {
            "Bookmarks Toolbar / A // B": 1,
            "Bookmarks Toolbar / Empty": 0,
            "Other Bookmarks": 1,
        },
    ),
    "tiktok.json": Expected(3, 3),
    "csv_quotes.csv": Expected(3, 3, {}, {"status": 3}),
    "instapaper.csv": Expected(2, 2, {}, {}, {"Unread": 1, "Archive": 1}),
    "karakeep.json": Expected(
        4,
        2,
        {3: NO_URL, 4: NO_URL},
        {"archived": 1},
        {"A list": 1},
    ),
    "karakeep_lists.json": Expected(
        4,
        5,
        {},
        {"lists": 1},
        {"Work": 1, "Work / Inbox": 1, "Home / Inbox": 2},
    ),
    "linkding.json": Expected(
        2,
        2,
        {},
        {
            "unread": 1,
            "is_archived": 1,
        },
        unusable_dates=1,
    ),
    "linkwarden.json": Expected(
        2,
        2,
        {},
        {},
        {"Unorganized": 1, "Unorganized / Work": 1, "Empty": 0},
    ),
    "linkwarden_nested.json": Expected(
        3,
        3,
        {},
        {},
        {"Work": 0, "Home": 0, "Work / Inbox": 1, "Home / Inbox": 2},
    ),
    "omnivore.json": Expected(
        2,
        2,
        {},
        {
            "state": 2,
            "readingProgress": 1,
        },
    ),
    "pinboard.json": Expected(
        2,
        2,
        {},
        {"shared": 2, "toread": 1},
        unusable_dates=1,
    ),
    "pinboard_false_title.json": Expected(1, 1, {}, {"shared": 1}),
    "pocket.csv": Expected(2, 2, {}, {"status": 2}),
    "raindrop_api.json": Expected(
        1,
        1,
        {},
        {"media": 1, "collection": 1},
    ),
    "pocket_url_with_line_break.csv": Expected(1, 1, {}, {"status": 1}),
    "readwise.csv": Expected(
        3,
        3,
        {},
        {
            "Reading progress": 1,
            "Location": 3,
            "Seen": 3,
        },
    ),
    "raindrop.csv": Expected(
        3,
        2,
        {5: NEITHER_HTTP_NOR_HTTPS},
        {"cover": 1, "favorite": 1},
        {"Unsorted": 1, "Work/Projects": 1},
    ),
    "matter.csv": Expected(
        2,
        2,
        {},
        {
            "Author": 1,
            "Publisher": 1,
            "Word Count": 1,
            "In Queue": 1,
            "Favorited": 1,
            "Read": 1,
            "Highlight_Count": 1,
            "File Id": 1,
        },
    ),
    "mymind.csv": Expected(3, 2, {3: NO_URL}, {"content": 1}),
    "google_saved.csv": Expected(2, 2),
    "diigo.csv": Expected(2, 2),
    "tab_session_manager.json": Expected(
        3,
        2,
        {2: NEITHER_HTTP_NOR_HTTPS},
        {"windowId": 2, "favIconUrl": 1},
        {"Research": 2},
    ),
    "delicious.json": Expected(2, 2, {}, {"others": 2, "owner": 2, "private": 1}),
    "shaarli.json": Expected(2, 2, {}, {"shorturl": 2, "private": 1}),
    "toby.json": Expected(3, 3, {}, {"title": 1}, {"Work": 2, "Later": 1}),
    "goodlinks.json": Expected(2, 2, {}, {"starred": 1}),
    "readeck.json": Expected(
        2,
        2,
        {},
        {
            "href": 2,
            "loaded": 1,
            "site_name": 1,
            "authors": 1,
            "lang": 1,
            "is_archived": 1,
            "resources": 1,
        },
    ),
    "wallabag.json": Expected(
        2,
        2,
        {},
        {
            "is_archived": 1,
            "is_starred": 1,
            "content": 1,
            "mimetype": 1,
            "language": 1,
            "domain_name": 1,
        },
    ),
}


def records(name):
    path = PROGRAMS / name
    with path.open("rb") as file:
        yield from read(file, guess_format(name))


def test_every_file_has_an_expected_result():
    assert {path.name for path in PROGRAMS.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_files_of_other_programs_are_imported(user_group, name, expected):
    report = imported(user_group, records(name))

    assert (report.created, report.existing) == (expected.imported, 0)
    assert dict(refusals(report)) == expected.refused
    assert report.created + report.refused >= expected.entries
    assert (report.left_out, report.unusable_dates) == (
        expected.left_out,
        expected.unusable_dates,
    )
    assert {
        collection.name: Bookmark.objects.filter(collection=collection).count()
        for collection in Collection.objects.all()
    } == expected.collections


@pytest.mark.parametrize(
    ("name", "url", "title", "created_at"),
    [
        (
            "firefox.html",
            "https://example.com/?a=1&b=2",
            "R&D <café> 'x'",
            "2023-11-14 22:13:22",
        ),
        (
            "google_bookmarks.html",
            "http://example.com/?q=a&b",
            "No label",
            "2011-03-13 07:06:40.123456",
        ),
        (
            "icab.html",
            "http://example.com/icab",
            "Déjà vu \N{EN DASH} “quoted”",
            "2004-11-09 11:33:21",
        ),
        (
            "netscape_4.html",
            "http://home.example.com/",
            "100 € \N{EN DASH} „Start“",
            "1998-07-09 16:00:01",
        ),
        (
            "netscape_4_japanese.html",
            "http://example.jp/",
            "①株式会社 \N{FULLWIDTH TILDE} ソフト",
            "2001-09-09 01:46:41",
        ),
        (
            "pocket.html",
            "https://example.com/read",
            "A page & its <title>",
            "2020-09-13 12:26:42",
        ),
        (
            "diigo.html",
            "https://example.com/diigo",
            "How <style> and <script> work",
            "2014-05-13 16:53:21",
        ),
        ("chrome.json", "https://example.com/2", "In a folder", "2023-11-14 22:13:20"),
        (
            "firefox.json",
            "https://example.com/1",
            "In the menu",
            "2023-11-14 22:13:20.123456",
        ),
        (
            "instapaper.csv",
            "https://example.com/2",
            'The "second"',
            "2023-11-14 22:13:20",
        ),
        ("karakeep.json", "https://example.com/1", "First", "2023-11-14 22:13:20"),
        (
            "linkding.json",
            "https://example.com/1",
            "First",
            "2023-11-14 22:13:20.123456",
        ),
        ("linkwarden.json", "https://example.com/2", "Second", "2023-11-14 22:13:20"),
        ("omnivore.json", "https://example.com/1", "First", "2023-11-14 22:13:20"),
        ("pinboard.json", "https://example.com/1", "First", "2023-11-14 22:13:20"),
        ("pocket.csv", "https://example.com/1", "First", "2023-11-14 22:13:20"),
        (
            "raindrop.csv",
            "https://example.com/1",
            "A title, quoted",
            "2023-11-14 22:13:20",
        ),
        ("wallabag.json", "https://example.com/1", "First", "2023-11-14 22:13:20"),
        (
            "tiktok.json",
            "https://www.tiktok.example/share/video/3/",
            "",
            "2023-11-16 08:00:00",
        ),
        (
            "readwise.csv",
            "https://example.com",
            "Example Site",
            "2024-03-14 23:55:23.291000",
        ),
        (
            "pocket_url_with_line_break.csv",
            "https://example.com/recipe?sqn=2ip6HHUqJ89=&ref=newsletter",
            "A recipe",
            "2023-11-14 22:13:20",
        ),
        (
            "csv_quotes.csv",
            "https://example.com/x",
            'My 24" monitor',
            "2023-11-14 22:13:20",
        ),
        ("matter.csv", "https://example.com/2", "Second", "2023-11-15 08:00:00"),
        (
            "tab_session_manager.json",
            "https://example.com/1",
            "First",
            "2023-11-14 22:13:20.123000",
        ),
        ("delicious.json", "https://example.com/1", "First", "2013-01-18 17:53:27"),
        ("shaarli.json", "https://example.com/1", "First", "2023-11-14 22:13:20"),
        (
            "goodlinks.json",
            "https://example.com/1",
            "First",
            "2023-11-14 22:13:20.500000",
        ),
        (
            "linkwarden_nested.json",
            "https://example.com/b",
            "B",
            "2024-01-01 00:00:00",
        ),
    ],
)
def test_titles_and_dates_are_kept(user_group, name, url, title, created_at):
    imported(user_group, records(name))

    bookmark = Bookmark.objects.get(url=url)
    moment = bookmark.created_at.replace(tzinfo=None)
    assert (bookmark.title, str(moment)) == (title, created_at)


@pytest.mark.parametrize(
    ("name", "url", "tags", "note"),
    [
        (
            "delicious.html",
            "http://example.com/delicious",
            ["web", "tools"],
            "Notes with markup & an ampersand",
        ),
        (
            "diigo.html",
            "https://example.com/diigo",
            ["two words", "one"],
            "A comment",
        ),
        ("diigo.html", "https://example.com/diigo/2", [], ""),
        (
            "linkding.html",
            "https://example.com/linkding",
            ["a", "b"],
            "Description\n\nThe *notes*",
        ),
        (
            "shaarli.html",
            "https://example.com/shaarli",
            ["secret", "self-hosted"],
            "A description in *Markdown*\n\nwith two paragraphs",
        ),
        ("pocket.html", "https://example.com/untitled", [], ""),
        ("firefox.json", "https://example.com/1", ["red", "blue"], ""),
        ("instapaper.csv", "https://example.com/2", ["red"], "Selected\ntext"),
        ("karakeep.json", "https://example.com/1", ["red"], "A note"),
        (
            "linkding.json",
            "https://example.com/1",
            ["red"],
            "A description\n\nA note",
        ),
        ("linkwarden.json", "https://example.com/1", ["red", "blue"], "A note"),
        ("omnivore.json", "https://example.com/1", ["red"], "A description"),
        ("pinboard.json", "https://example.com/1", ["red", "blue"], "A note"),
        ("pocket.csv", "https://example.com/1", ["red", "blue"], ""),
        (
            "raindrop.csv",
            "https://example.com/1",
            ["red", "blue"],
            "A note\nof two lines",
        ),
        ("raindrop_api.json", "https://example.com/r1", ["a"], "e"),
        ("firefox_3.json", "http://example.com/forum", [], "What users say"),
        ("notes_with_markup.html", "https://example.com/1", [], "Found in"),
        (
            "notes_with_markup.html",
            "https://example.com/2",
            [],
            "Two reasons:\nfast\nsmall",
        ),
        ("readwise.csv", "https://example.com", ["tag1", "tag2"], ""),
        ("matter.csv", "https://example.com/1", ["red", "two words"], ""),
        (
            "mymind.csv",
            "https://example.com/1",
            ["red", "two words"],
            "A note, of mine",
        ),
        (
            "google_saved.csv",
            "https://example.com/2",
            ["red", "two words"],
            "A comment",
        ),
        (
            "diigo.csv",
            "https://example.com/1",
            ["red", "two words"],
            "A description\n\nA comment\n\nHighlight: A quotation",
        ),
        ("diigo.csv", "https://example.com/2", [], ""),
        ("delicious.json", "https://example.com/1", ["red", "two_words"], 'A "note"'),
        (
            "shaarli.json",
            "https://example.com/1",
            ["red", ".hidden"],
            "A note in *Markdown*",
        ),
        (
            "goodlinks.json",
            "https://example.com/1",
            ["red"],
            "How it begins\n\nA quotation\n\nAbout it",
        ),
        (
            "readeck.json",
            "https://example.com/1",
            ["red", "two words"],
            "A description",
        ),
        ("wallabag.json", "https://example.com/1", ["red"], "y\n\nx"),
    ],
)
def test_tags_and_notes_are_kept(user_group, name, url, tags, note):
    imported(user_group, records(name))

    bookmark = Bookmark.objects.get(url=url)
    assert (bookmark.tags, bookmark.note) == (tags, note)
