"""Import and export in the admin. tests/bookmarks has the formats of files."""

import csv
import io
import json
import re
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.conf import settings as project_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from bookmarks.admin import exports
from bookmarks.models import Bookmark, Collection
from tests.admin.actions import log_in_with, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import act_after_first_chunk, chunks_of_two  # noqa: F401
from usergroups.events import Event

pytestmark = pytest.mark.django_db

IMPORT = url("bookmarks_bookmark_import")
EXPORT = url("bookmarks_bookmark_export")
ROWS = b"""url,title,collection
https://a/,A,New
https://b/,B,Known
x,A title\xff,
,=1+1,
"""
"""Two rows that are stored, and two that are refused: one with an invalid URL
and one without a URL. A title has a byte that is not UTF-8.
"""


def upload(client, user_group, name, content, **fields):
    """Send the form of the import page, and return the page that follows."""
    file = SimpleUploadedFile(name, content)
    fields = {"user_group": user_group.pk, "file": file, **fields}
    return client.post(IMPORT, fields, follow=True)


@pytest.fixture
def imported(admin_client, user_group):
    """Return a function that imports a file as an operator, and returns the
    text of the page that follows.
    """

    def imported(content=ROWS, name="a.csv", **fields):
        page = upload(admin_client, user_group, name, content, **fields)
        return page.content.decode()

    return imported


@pytest.mark.parametrize(
    ("permissions", "may_import"),
    [(["add_bookmark", "add_collection"], True), (["add_bookmark"], False)],
)
def test_the_page_of_a_group_links_to_the_import_if_the_operator_may_import(
    client, user_group, permissions, may_import
):
    log_in_with(client, "view_usergroup", "view_bookmark", *permissions)

    page = client.get(url("usergroups_usergroup_change", user_group.pk))
    assert (IMPORT in page.content.decode()) == may_import


def test_a_file_is_imported_and_the_import_is_recorded(imported, user_group):
    new = CollectionFactory(user_group=user_group, name="New")
    BookmarkFactory(user_group=user_group, collection=new, url="https://a/")

    page = imported(ROWS, "A.CSV")

    counts = {"new": 1, "updated": 0, "already existed": 1, "refused": 2}
    for name in ("new", "already existed", "refused"):
        assert f"<li>{counts[name]} {name}</li>" in page
    assert "The URL has no scheme such as https://." in page
    assert Bookmark.objects.filter(user_group=user_group).count() == 2
    event = Event.objects.get()
    assert (event.user_group, event.actor, event.text) == (user_group, "admin", "A.CSV")
    assert event.counts == counts
    # The next form is for the same user group.
    assert f'value="{user_group.pk}" selected' in page


def test_a_file_without_bookmarks_is_reported(imported):
    page = imported(b"url,title\n")

    assert "<h2>No bookmarks imported</h2>" in page
    assert "No bookmarks found. The file looks like CSV." in page
    assert "0 new" not in page
    assert not Event.objects.exists()


def test_a_check_says_what_an_import_would_do_and_stores_nothing(imported, user_group):
    CollectionFactory(user_group=user_group, name="Known")
    BookmarkFactory(user_group=user_group, url="https://c/")

    page = imported(ROWS + b"https://c/,,\n", check="1")

    assert "nothing has been imported yet" in page
    for count in ("2 new", "1 already existed", "2 refused"):
        assert f"<li>{count}</li>" in page
    assert "New collections: 1</p>" in page
    stored = (Bookmark, Collection, Event)
    assert [model.objects.count() for model in stored] == [1, 1, 0]


@pytest.mark.parametrize("fields", [{}, {"check": "1"}], ids=["import", "check"])
def test_the_report_is_not_kept_in_the_session(admin_client, user_group, fields):
    before = dict(admin_client.session)

    page = upload(admin_client, user_group, "a.csv", ROWS, **fields)

    assert page.redirect_chain == []
    assert "2 refused" in page.content.decode()
    assert dict(admin_client.session) == before
    assert "refused" not in admin_client.get(IMPORT).content.decode()


def refused_lines(page):
    """Return the lines of the CSV file that a report offers."""
    pattern = r'href="data:text/csv;charset=utf-8,([^"]+)" download="refused-a.csv"'
    return list(csv.reader(io.StringIO(unquote(re.search(pattern, page)[1]))))


def test_refused_lines_are_shown_with_their_url_and_title_and_as_csv(imported):
    page = imported()

    assert re.search(
        ">4</td><td [^>]+>x</td><td [^>]+>A title\ufffd</td><td [^>]+>The URL has no",
        page,
    )
    header, *lines = refused_lines(page)
    assert header == ["line", "url", "title", "reason"]
    # The quotation mark keeps spreadsheets from calculating the title.
    shown = [["4", "x", "A title\ufffd"], ["5", "", "'=1+1"]]
    assert [line[:3] for line in lines] == shown


def test_the_report_is_bounded(imported):
    long = b"x" * 2000

    page = imported(b"url,title\n" + (long + b"," + long + b"\n") * 300)

    assert "300 refused" in page
    assert "Download the first 10 refused lines" in page
    lines = refused_lines(page)[1:]
    assert len(lines) == 10
    assert all(len(text) <= 500 for _, *texts in lines for text in texts)


@pytest.mark.parametrize(
    ("permissions", "import_status", "export_status"),
    [
        ([], 403, 403),
        (["view_bookmark"], 403, 200),
        (["add_bookmark"], 403, 403),
        (["add_bookmark", "add_collection"], 200, 403),
    ],
)
def test_import_and_export_require_their_permissions(
    client, user_group, permissions, import_status, export_status
):
    log_in_with(client, *permissions)

    exported = client.get(EXPORT, {"user_group": user_group.pk, "format": "csv"})

    exported.getvalue()  # Reading the file to its end closes it.
    assert exported.status_code == export_status
    assert client.get(IMPORT).status_code == import_status


# Uploads


def zipped(*names):
    """Return a ZIP that contains ROWS under these names."""
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as written:
        for name in names:
            written.writestr(name, ROWS)
    return archive.getvalue()


def test_the_file_in_a_zip_is_imported(imported):
    assert "2 new" in imported(zipped("B.CSV"), "A.ZIP")


@pytest.mark.parametrize(
    ("name", "content", "fields", "problem"),
    [
        ("a.zip", zipped("a.csv", "b.csv"), {}, "A ZIP must contain one file."),
        ("a.zip", zipped("a.csv")[:-10], {}, "The ZIP is damaged or encrypted."),
        ("a.csv", b"%PDF-1.7", {}, "The file looks like PDF."),
        ("a.html", b"", {}, "The submitted file is empty."),
        ("a.odt", b"x", {}, "No bookmarks found. The file looks like"),
        ("a.csv", ROWS, {"encoding": "nope"}, "nope is not the name of an encoding"),
    ],
    ids=["two files", "cut", "binary", "empty", "format", "encoding"],
)
def test_a_file_that_cannot_be_read_is_refused(
    imported, name, content, fields, problem
):
    assert problem in imported(content, name, **fields)
    assert not Bookmark.objects.exists()


def test_a_file_over_the_limit_is_refused(imported, settings):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = len(ROWS) - 1

    assert "The file is larger than" in imported()
    assert not Bookmark.objects.exists()


def test_an_upload_needs_the_csrf_token(user_group):
    client = Client(enforce_csrf_checks=True)
    log_in_with(client, "add_bookmark", "add_collection", "view_usergroup")
    client.get(IMPORT)
    token = client.cookies[project_settings.CSRF_COOKIE_NAME].value

    refused = upload(client, user_group, "a.csv", ROWS)
    accepted = upload(client, user_group, "a.csv", ROWS, csrfmiddlewaretoken=token)

    assert "The form was not accepted" in refused.content.decode()
    assert "2 new" in accepted.content.decode()


def test_the_encoding_of_a_file_can_be_named(imported):
    content = "url,title\nhttps://a/,Привет\n".encode("koi8-r")

    assert "1 refused" in imported(content)
    assert "1 new" in imported(content, encoding="koi")
    assert Bookmark.objects.get().title == "Привет"


def test_a_file_is_imported_into_a_chosen_collection(imported, user_group):
    collection = CollectionFactory(user_group=user_group)

    refused = imported(collection=CollectionFactory().pk)
    page = imported(b"url,collection\nhttps://a/,Another\n", collection=collection.pk)

    assert "The user group has no such collection." in refused
    assert "1 new" in page
    assert Bookmark.objects.get().collection == collection
    assert not Collection.objects.filter(name="Another").exists()


def test_existing_bookmarks_are_updated_if_the_operator_wants_it(imported, user_group):
    BookmarkFactory(user_group=user_group, url="https://a/", title="Old")
    content = b"url,title\nhttps://a/,New\nhttps://b/,\n"

    assert "updated" not in imported(content)
    page = imported(content, update="on")

    assert "<li>1 updated</li>" in page
    assert "<li>1 already existed</li>" in page
    assert Bookmark.objects.get(url="https://a/").title == "New"
    assert Event.objects.latest("pk").counts["updated"] == 1


# Imports that stop


def test_a_damaged_file_is_reported_with_what_was_stored(imported):
    page = imported(b'[{"url": "https://a/"}, x]', "a.json")

    assert "The file cannot be read after 1 bookmarks" in page
    assert "<li>1 new</li>" in page
    assert Event.objects.get().counts["new"] == 1


def test_an_import_stops_at_its_time_limit(imported, settings):
    settings.USERGROUPS_CALL_TIME_LIMIT = 0

    assert "The import was stopped after 0 seconds, before line 1 " in imported()


@pytest.mark.django_db(transaction=True)
def test_what_was_imported_before_the_database_fails_is_in_the_history(
    imported,
    monkeypatch,
    chunks_of_two,  # noqa: F811
):
    def fail():
        raise OperationalError("The disk is full.")

    act_after_first_chunk(monkeypatch, fail)  # after two of the three bookmarks

    page = imported(b"url\nhttps://a/\nhttps://b/\nhttps://c/\n")

    assert "The database failed. Try the file again." in page
    assert Bookmark.objects.count() == 2
    assert Event.objects.get().counts["new"] == 2


# Exports


def test_an_export_contains_the_bookmarks_and_the_empty_collections_of_the_user_group(
    admin_client, user_group
):
    bookmarks = BookmarkFactory.create_batch(5, user_group=user_group)
    CollectionFactory(user_group=user_group)
    BookmarkFactory()
    query = {"user_group": user_group.pk, "format": "jsonl"}

    response = admin_client.get(EXPORT, query)

    lines = [json.loads(line) for line in response.getvalue().decode().splitlines()]
    # The line of the empty collection has no URL.
    urls = [*(bookmark.url for bookmark in bookmarks), None]
    assert [line.get("url") for line in lines] == urls
    names = f"{user_group.team.name} {user_group.name}".lower().replace(" ", "-")
    assert response["Content-Disposition"] == (
        f'attachment; filename="{names}-bookmarks-{timezone.now():%Y-%m-%d}.jsonl"'
    )


@pytest.mark.parametrize(
    "query",
    [{"format": "json"}, {"format": ""}, {"user_group": "4711"}, {"user_group": ""}],
)
def test_an_export_of_an_unknown_group_or_format_is_not_found(
    admin_client, user_group, query
):
    query = {"user_group": user_group.pk, "format": "csv", **query}

    assert admin_client.get(EXPORT, query).status_code == 404


def test_a_user_group_with_too_many_bookmarks_is_exported_by_the_command(
    admin_client, user_group, monkeypatch
):
    monkeypatch.setattr(exports, "MAX_EXPORTED", 1)
    BookmarkFactory.create_batch(2, user_group=user_group)
    query = {"user_group": user_group.pk, "format": "csv"}

    response = admin_client.get(EXPORT, query, follow=True)

    page = url("usergroups_usergroup_change", user_group.pk)
    assert response.redirect_chain == [(page, 302)]
    assert "There are more than 1 bookmarks." in response.content.decode()
