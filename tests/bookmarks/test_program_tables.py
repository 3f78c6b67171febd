"""Importing the CSV and JSON files of other programs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bookmarks.files import guess_format
from bookmarks.files.importing import read
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.imports import imported
from tests.bookmarks.imports import refusals as listed_refusals

PROGRAMS = Path(__file__).parent / "programs"

TIME = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
NOT_HTTP = "The URL is neither http nor https."
TAG = "This is a tag of a bookmark. Tags are not imported."
NO_URL = "The entry has no URL."


def import_program(user_group, name):
    """Import the file of a program and return the report."""
    with (PROGRAMS / name).open("rb") as file:
        return imported(user_group, read(file, guess_format(name)))


# For each file: the titles by collection, the refusals, what is left out, and the number of unusable dates.
EXPECTED = {
    "raindrop.csv": (
        {"Unsorted": ["A title, quoted"], "Work/Projects": ["Second"]},
        [(5, NOT_HTTP)],
        {"note": 1, "tags": 1, "cover": 1, "favorite": 1},
        0,
    ),
    "pocket.csv": ({None: ["First", "Second"]}, [], {"tags": 1, "status": 2}, 1),
    "instapaper.csv": ({"Unread": ["First"], "Archive": ['The "second"']}, [], {"Selection": 1, "Tags": 1}, 0),
    "pinboard.json": ({None: ["First", "Second"]}, [], {"extended": 1, "tags": 1, "shared": 1, "toread": 1}, 1),
    "firefox.json": (
        {
            None: ["In the menu"],
            "Bookmarks Toolbar / A // B": ["In a folder"],
            "Bookmarks Toolbar / Empty": [],
            "Other Bookmarks": ["Unfiled"],
        },
        [(2, NOT_HTTP), (5, TAG)],
        {"lastModified": 3, "tags": 1, "charset": 1, "annos": 1, "keyword": 1},
        0,
    ),
    "wallabag.json": (
        {None: ["First", "Second"]},
        [],
        {
            "is_archived": 1, "is_starred": 1, "tags": 1, "updated_at": 1, "annotations": 1, "content": 1,
            "mimetype": 1, "language": 1, "domain_name": 1,
        },
        0,
    ),
    "omnivore.json": (
        {None: ["First", "Second"]},
        [],
        {"description": 1, "state": 2, "labels": 1, "updatedAt": 1, "readingProgress": 1},
        0,
    ),
    "linkding.json": (
        {None: ["", "First"]},
        [],
        {"description": 1, "notes": 1, "unread": 1, "tag_names": 1, "date_modified": 1, "is_archived": 1},
        1,
    ),
    "karakeep.json": (
        {None: ["", "First"]},
        [(3, NO_URL), (4, NO_URL), (5, "The key lists is not imported.")],
        {"tags": 1, "note": 1, "lists": 1, "archived": 1},
        0,
    ),
    "linkwarden.json": (
        {"Unorganized": ["First"], "Work": ["Second"], "Empty": []},
        [(3, "The key rssSubscriptions is not imported."), (4, "The key pinnedLinks is not imported.")],
        {"description": 1, "collectionId": 2, "updatedAt": 2, "tags": 1},
        0,
    ),
    "chrome.json": (
        {
            None: ["Elsewhere"],
            "Bookmarks bar": ["On the bar"],
            "Bookmarks bar / A folder": ["In a folder"],
            "Bookmarks bar / Empty": [],
        },
        [],
        {"date_last_used": 1, "meta_info": 1},
        0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_the_files_of_other_programs_are_imported(user_group, name):
    titles, refusals, left_out, unusable_dates = EXPECTED[name]

    report = import_program(user_group, name)

    stored = {None: []} | {collection.name: [] for collection in Collection.objects.all()}
    for bookmark in Bookmark.objects.select_related("collection").order_by("title"):
        stored[bookmark.collection and bookmark.collection.name].append(bookmark.title)
    assert stored == {None: []} | titles
    assert report.created == Bookmark.objects.count()
    assert listed_refusals(report) == refusals
    assert report.left_out == left_out
    assert report.unusable_dates == unusable_dates


@pytest.mark.parametrize("name", EXPECTED)
def test_the_dates_of_other_programs_are_kept(user_group, name):
    *_, unusable_dates = EXPECTED[name]

    import_program(user_group, name)

    dates = [bookmark.created_at.replace(microsecond=0) for bookmark in Bookmark.objects.all()]
    assert dates.count(TIME) == len(dates) - unusable_dates


def test_every_sample_is_expected():
    assert {path.name for path in PROGRAMS.iterdir() if path.suffix in (".csv", ".json")} == EXPECTED.keys()
