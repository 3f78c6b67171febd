"""What arrives in a browser that imports an export to HTML."""

import json
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime

import pytest
from playwright.sync_api import sync_playwright

from bookmarks import exports
from bookmarks.files import read
from bookmarks.files.dates import parse_date
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.test_programs import PROGRAMS
from tests.programs import needs
from tests.servers import running_server

pytestmark = pytest.mark.database_independent

URL = "https://example.com/"
TIME = datetime(2020, 2, 29, 12, tzinfo=UTC)

# Mounts a folder in the place of Chromium's settings, for this process alone.
# Chromium only imports at its first start, and has no option for the file.
CHROMIUM = """#!/bin/sh
exec unshare --user --map-root-user --mount sh -c '
    mount --bind {settings} /etc/chromium
    exec chromium "$@"
' sh "$@"
"""


@pytest.fixture
def export(tmp_path):
    """Return the path of an export with apostrophes, quotation marks, line
    breaks and folders in folders.
    """
    with (PROGRAMS / "export_for_browsers.jsonl").open("rb") as file:
        items = [
            Bookmark(url=record.url, title=record.title, created_at=TIME)
            for record in read(file, "jsonl")
        ]
    inner = Collection(name="It's / R&D\n<1>")
    items += [
        Bookmark(
            url=f"{URL}?a=1&b=2",
            title="",
            created_at=TIME,
            collection=inner,
            tags=["it's", "R&D"],
            note="One & <b>\nTwo",
        ),
        Bookmark(url=f"{URL}2", title='"&#39;"', created_at=TIME, collection=inner),
    ]
    path = tmp_path / "export.html"
    path.write_text(b"".join(exports.write(items, "html")).decode())
    return path


@needs("chromium", "unshare")
def test_chromium_imports_an_export(export, tmp_path):
    """It decodes no character reference for a line break, and replaces a date
    before 1970 by the time of the import.
    """
    begin = datetime.now(UTC)
    old = f'<DT><A HREF="{URL}old" ADD_DATE="-86400">Old</A>\n</DL><p>\n'
    export.write_text(export.read_text().removesuffix("</DL><p>\n") + old)
    settings = tmp_path / "settings"
    settings.mkdir()
    preferences = {"distribution": {"import_bookmarks_from_file": str(export)}}
    (settings / "master_preferences").write_text(json.dumps(preferences))
    program = tmp_path / "chromium"
    program.write_text(CHROMIUM.format(settings=settings))
    program.chmod(0o755)
    profile = tmp_path / "profile"

    with sync_playwright() as playwright:
        # Chromium does not import in its headless mode.
        playwright.chromium.launch_persistent_context(
            profile,
            executable_path=program,
            headless=False,
            args=["--ozone-platform=headless", "--no-sandbox"],
            ignore_default_args=["--no-first-run"],
        ).close()
    with (profile / "Default" / "Bookmarks").open("rb") as file:
        records = list(read(file, "json"))

    *others, of_old = [parse_date(record.created_at) for record in records]
    assert set(others) == {TIME}
    assert begin <= of_old <= datetime.now(UTC)
    inner = "Bookmarks bar / It's / R&D&#10;<1>"
    assert [
        (record.url, record.title, record.collection) for record in records[:5]
    ] == [
        (f"{URL}apostrophe", "It's a title", "Bookmarks bar"),
        (f"{URL}it's", "URL", "Bookmarks bar"),
        (f"{URL}newline", "line one&#10;line two", "Bookmarks bar"),
        (f"{URL}?a=1&b=2", None, inner),
        (f"{URL}2", '"&#39;"', inner),
    ]


STORED_IN_FIREFOX = """
SELECT address.url, bookmark.title, folder.title, outer_folder.title, bookmark.dateAdded
FROM moz_bookmarks AS bookmark
JOIN moz_places AS address ON address.id = bookmark.fk
JOIN moz_bookmarks AS folder ON folder.id = bookmark.parent
JOIN moz_bookmarks AS outer_folder ON outer_folder.id = folder.parent
ORDER BY bookmark.id
"""


def bookmarks_in(profile):
    """Return the bookmarks in a profile of Firefox, or an empty list if it has
    not created the database yet.
    """
    address = f"file:{profile}/places.sqlite?mode=ro"
    with (
        suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(address, uri=True)) as connection,
    ):
        return connection.execute(STORED_IN_FIREFOX).fetchall()
    return []


@needs("firefox-esr")
def test_firefox_imports_an_export(export, tmp_path):
    profile = tmp_path / "profile"
    profile.mkdir()
    preferences = {
        "browser.places.importBookmarksHTML": True,
        "browser.bookmarks.file": str(export),
        # The test reads the database while Firefox runs.
        "storage.sqlite.exclusiveLock.enabled": False,
    }
    lines = [
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
        for name, value in preferences.items()
    ]
    (profile / "user.js").write_text("".join(lines))

    log = tmp_path / "log"
    firefox = ["firefox-esr", "--headless", "--profile", profile]

    # A bookmark is there again in the folder of each of its two tags.
    with running_server(firefox, log, lambda: len(bookmarks_in(profile)) >= 7):
        stored = bookmarks_in(profile)

    inner = ("R&D\n<1>", "It's")
    time = TIME.timestamp() * 1_000_000
    tagged = [(row[0], row[2]) for row in stored if row[3] == "tags"]
    assert tagged == [(f"{URL}?a=1&b=2", "it's"), (f"{URL}?a=1&b=2", "R&D")]
    assert [row for row in stored if row[3] != "tags"] == [
        (f"{URL}apostrophe", "It's a title", "menu", "", time),
        (f"{URL}it's", "URL", "menu", "", time),
        (f"{URL}newline", "line one\nline two", "menu", "", time),
        (f"{URL}?a=1&b=2", None, *inner, time),
        (f"{URL}2", '"&#39;"', *inner, time),
    ]
