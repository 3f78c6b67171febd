"""Import and export in the admin."""

import csv
import io
import json
import re
from urllib.parse import unquote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from bookmarks.admin import exports
from bookmarks.models import Bookmark, Collection
from tests.admin.actions import log_in_with, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.usergroups.factories import UserGroupFactory
from usergroups.events import Event

pytestmark = pytest.mark.django_db

IMPORT = url("bookmarks_bookmark_import")
EXPORT = url("bookmarks_bookmark_export")


def upload(client, user_group, name, content, **fields):
    file = SimpleUploadedFile(name, content)
    return client.post(
        IMPORT, {"user_group": user_group.pk, "file": file, **fields}, follow=True
    )


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


def test_a_file_is_imported_and_the_import_is_recorded(admin_client):
    user_group = UserGroupFactory()
    BookmarkFactory(user_group=user_group, url="https://a/")

    page = upload(
        admin_client,
        user_group,
        "A.HTM",
        b'<A HREF="https://a/">1</A>\n<A HREF="https://b/">2</A>\n<A HREF="x">3',
    )

    text = page.content.decode()
    assert all(count in text for count in ("1 new", "1 already existed", "1 refused"))
    assert "The URL has no scheme such as https://." in text
    assert Bookmark.objects.filter(user_group=user_group).count() == 2
    event = Event.objects.get()
    assert (event.user_group, event.actor, event.text) == (user_group, "admin", "A.HTM")
    assert event.counts == {
        "new": 1,
        "updated": 0,
        "already existed": 1,
        "refused": 1,
    }


@pytest.mark.parametrize(
    ("name", "content", "description"),
    [
        ("a.csv", b"url,title\n", "CSV"),
        ("a.html", b"<!DOCTYPE NETSCAPE-Bookmark-file-1>", "HTML"),
        ("a.jsonl", b"\n", "an empty file"),
    ],
)
def test_a_file_without_bookmarks_is_reported(admin_client, name, content, description):
    page = upload(admin_client, UserGroupFactory(), name, content).content.decode()

    assert "<h2>No bookmarks imported</h2>" in page
    assert f"No bookmarks found. The file looks like {description}." in page
    assert "0 new" not in page
    assert not Event.objects.exists()


ROWS = b"""url,title,collection
https://a/,A,New
https://b/,B,Known
x,A title\xff,
,=1+1,
"""
"""Two rows that are stored, and two that are refused: one with an invalid URL
and one without a URL. A title has a byte that is not UTF-8.
"""


def test_a_check_says_what_an_import_would_do_and_stores_nothing(
    admin_client, user_group
):
    Collection.objects.create(user_group=user_group, name="Known")
    BookmarkFactory(user_group=user_group, url="https://c/")

    page = upload(
        admin_client, user_group, "a.csv", ROWS + b"https://c/,,\n", check="1"
    ).content.decode()

    assert "nothing has been imported yet" in page
    assert all(
        f"<li>{count}</li>" in page
        for count in ("2 new", "1 already existed", "2 refused")
    )
    assert "New collections: 1</p>" in page
    assert (
        Bookmark.objects.count(),
        Collection.objects.count(),
        Event.objects.count(),
    ) == (1, 1, 0)


@pytest.mark.parametrize("fields", [{}, {"check": "1"}], ids=["import", "check"])
def test_the_report_is_not_kept_in_the_session(admin_client, user_group, fields):
    before = dict(admin_client.session)

    page = upload(admin_client, user_group, "a.csv", ROWS, **fields)

    assert page.status_code == 200
    assert page.redirect_chain == []
    assert "2 refused" in page.content.decode()
    assert dict(admin_client.session) == before
    assert "refused" not in admin_client.get(IMPORT).content.decode()


def test_the_form_below_a_report_is_for_the_same_user_group(admin_client, user_group):
    page = upload(admin_client, user_group, "a.csv", ROWS)

    assert f'value="{user_group.pk}" selected' in page.content.decode()


def refused_lines(page):
    """Return the lines of the CSV file that a report offers."""
    link = re.search(
        r'href="data:text/csv;charset=utf-8,([^"]+)" download="refused-a.csv"',
        page.content.decode(),
    )
    return list(csv.reader(io.StringIO(unquote(link[1]))))


def test_refused_lines_are_shown_with_their_url_and_title_and_as_csv(
    admin_client, user_group
):
    page = upload(admin_client, user_group, "a.csv", ROWS)

    assert re.search(
        ">4</td><td [^>]+>x</td><td [^>]+>A title\ufffd</td><td [^>]+>The URL has no",
        page.content.decode(),
    )
    header, *lines = refused_lines(page)
    assert header == ["line", "url", "title", "reason"]
    # The quotation mark keeps spreadsheets from calculating the title.
    assert [line[:3] for line in lines] == [
        ["4", "x", "A title\ufffd"],
        ["5", "", "'=1+1"],
    ]


def test_the_report_is_bounded(admin_client, user_group):
    long = b"x" * 2000

    page = upload(
        admin_client,
        user_group,
        "a.csv",
        b"url,title\n" + (long + b"," + long + b"\n") * 300,
    )

    assert "300 refused" in page.content.decode()
    assert "Download the first 10 refused lines" in page.content.decode()
    lines = refused_lines(page)[1:]
    assert len(lines) == 10
    assert all(len(text) <= 500 for _, *texts in lines for text in texts)


@pytest.mark.parametrize(
    ("name", "content"), [("a.odt", b"x"), ("a", b"x"), ("a.html", b"")]
)
def test_an_empty_file_or_one_of_an_unknown_format_is_refused(
    admin_client, name, content
):
    page = upload(admin_client, UserGroupFactory(), name, content)

    assert page.context["form"].errors.keys() == {"file"}


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
    query = {"user_group": user_group.pk, "format": "csv"}

    exported = client.get(EXPORT, query)
    exported.getvalue()  # Reading the file to its end closes it.
    assert (client.get(IMPORT).status_code, exported.status_code) == (
        import_status,
        export_status,
    )


def test_an_export_contains_the_bookmarks_and_the_empty_collections_of_the_user_group(
    admin_client, user_group
):
    bookmarks = BookmarkFactory.create_batch(5, user_group=user_group)
    CollectionFactory(user_group=user_group)
    BookmarkFactory()

    response = admin_client.get(
        EXPORT, {"user_group": user_group.pk, "format": "jsonl"}
    )

    lines = [json.loads(line) for line in b"".join(response).decode().splitlines()]
    # The line of the empty collection has no URL.
    assert [line.get("url") for line in lines] == [
        *(bookmark.url for bookmark in bookmarks),
        None,
    ]
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
    assert (
        admin_client.get(
            EXPORT, {"user_group": user_group.pk, "format": "csv", **query}
        ).status_code
        == 404
    )


def test_a_user_group_with_too_many_bookmarks_is_exported_by_the_command(
    admin_client, user_group, monkeypatch
):
    monkeypatch.setattr(exports, "MAX_EXPORTED", 1)
    BookmarkFactory.create_batch(2, user_group=user_group)

    response = admin_client.get(
        EXPORT, {"user_group": user_group.pk, "format": "csv"}, follow=True
    )

    assert response.redirect_chain == [
        (url("usergroups_usergroup_change", user_group.pk), 302)
    ]
    assert "There are more than 1 bookmarks." in response.content.decode()


def test_an_import_stops_at_its_time_limit(admin_client, user_group, settings):
    settings.USERGROUPS_CALL_TIME_LIMIT = 0

    page = upload(admin_client, user_group, "a.csv", ROWS).content.decode()

    assert "The import was stopped after 0 seconds, before line 1 " in page
