"""The files in ``programs/``, written by hand in the formats of other
programs, are imported without losing a link.
"""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from bookmarks.files import guess_format, read
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.imports import imported, refusals

FOLDER = Path(__file__).parent
PROGRAMS = FOLDER / "programs"

# For each file: the bookmarks (URL, title, collection, date, tags and note), all
# collections, the lines and reasons of refusals, and the number of unusable
# dates.
EXPECTED = json.loads((FOLDER / "expected_of_programs.json").read_text())


def date_in_file(bookmark: Bookmark) -> datetime | None:
    """Return the date of a bookmark, or None if it is that of the import."""
    is_new = bookmark.created_at > timezone.now() - timedelta(minutes=5)
    return None if is_new else bookmark.created_at


def test_every_file_has_an_expected_result():
    assert {path.name for path in PROGRAMS.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_other_programs_are_imported(user_group, name):
    expected = EXPECTED[name]
    with (PROGRAMS / name).open("rb") as file:
        report = imported(user_group, read(file, guess_format(name)))

    rows = Bookmark.objects.select_related("collection").order_by("url")
    found = []
    for row in rows:
        collection = row.collection.name if row.collection else None
        date = date_in_file(row)
        date_text = date.isoformat() if date else None
        found.append(
            [row.url, row.title, collection, date_text, row.tags, row.note],
        )
    assert (
        sorted(found, key=lambda row: (row[0], row[2] or "")) == (expected["bookmarks"])
    )
    names = Collection.objects.values_list("name", flat=True)
    assert sorted(names) == expected["collections"]
    assert [[*refusal] for refusal in refusals(report)] == expected["refused"]
    assert report.unusable_dates == expected["unusable_dates"]
    assert (report.created, report.existing) == (len(found), 0)
