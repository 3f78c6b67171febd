"""POST /v1/imports."""

import io
import json
from contextlib import ExitStack
from errno import EIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.core.checks import run_checks
from django.db import DatabaseError, OperationalError
from django.urls import reverse

from bookmarks.exports import load
from bookmarks.files import FORMATS_BY_TYPE, zip_content
from bookmarks.models import Bookmark, Collection
from tests.answers import error_code, errors
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.bookmarks.imports import act_after_first_chunk, chunks_of_two  # noqa: F401
from tests.calls_in_progress import begin_call
from tests.conftest import Caller
from tests.usergroups.factories import UserGroupFactory
from usergroups.api.throttling import COSTLY_CALLS
from usergroups.models import UserGroup

INPUTS = Path(__file__).parent / "inputs"
EXPORT_HTML = "Export the bookmarks as HTML in the program, and import that file."
NO_SCHEME = "The URL has no scheme such as https://."
URL = "https://example.com/"
LINE = b'{"url": "https://example.com/", "title": "A"}\n'
CSV = b"url,title\nhttps://example.com/,A\n"
XBEL = b"""<xbel><bookmark href="https://example.com/"><title>A</title></bookmark>
</xbel>"""
HTML = (
    b'<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=%s"><DL><p><DT><A'
    b' HREF="https://example.com/">%s</A>'
)
EMPTY_REPORT = {
    "created": 0,
    "updated": 0,
    "existing": 0,
    "collections": 0,
    "refused": 0,
    "refusals": [],
    "unusable_dates": 0,
    "shortened": 0,
    "error": None,
    "stopped_at": None,
}


@pytest.fixture
def send(api_client, access_token):
    """Return a function that calls POST /v1/imports with a file as its body."""

    def send(
        body,
        content_type="application/jsonl",
        token=access_token,
        headers=None,
        **query,
    ):
        call = Caller(api_client, "POST", reverse("bookmarks:imports"), "Bearer", token)
        return call(body, query=query, CONTENT_TYPE=content_type, **(headers or {}))

    return send


def reported(response):
    """Check that an import succeeded, and return its report."""
    assert response.status_code == 200, response.content
    return response.json()["report"]


def report_of_error(response):
    """Check that no bookmark of an import could be used, and return its report."""
    assert error_code(response, 400) == "unreadable_file"
    return response.json()["report"]


@pytest.mark.parametrize(
    ("body", "content_type", "query"),
    [
        (LINE, "application/jsonl", {}),
        (LINE, "application/x-ndjson", {}),
        (LINE, "Application/JSONLines; charset=utf-8", {}),
        (CSV, "text/csv; header=present", {}),
        (HTML % (b"utf-8", b"A"), "text/html", {}),
        (CSV, "text/html", {"format": "csv"}),
        (CSV, "", {"format": "csv"}),
        (b"https://example.com/ | A", "text/plain", {}),
        (b"- [A](https://example.com/)", "text/markdown", {}),
        (XBEL, "application/xbel+xml", {}),
        (CSV, "\xff", {"format": "csv"}),
    ],
)
def test_the_format_is_that_of_the_query_or_else_of_the_content_type(
    send, user_group, body, content_type, query
):
    response = send(body, content_type, **query)

    assert response.json() == {"success": 1, "report": {**EMPTY_REPORT, "created": 1}}
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    [bookmark] = load(user_group)
    assert (bookmark.url, bookmark.title) == (URL, "A")


@pytest.mark.parametrize(
    "content_type",
    ["", "text/xml", "text/csvx", "text/*", "text/html; charset=x", "\xff"],
)
def test_another_content_type_is_refused(send, content_type):
    assert error_code(send(CSV, content_type), 415) == "unsupported_media_type"


def test_the_content_type_octet_stream_needs_a_format(send):
    assert errors(send(CSV, "application/octet-stream")) == [("format", "required")]
    assert reported(send(CSV, "application/octet-stream", format="csv"))["created"] == 1


@pytest.mark.parametrize(
    ("declared", "content_type", "query", "title"),
    [
        (b"windows-1251", "text/html", {}, "ж"),
        (b"windows-1252", "text/html; charset=windows-1251", {}, "ж"),
        (
            b"windows-1252",
            'application/octet-stream; charset="koi8-r"',
            {"format": "html"},
            "Ф",
        ),
    ],
)
def test_the_encoding_is_that_of_the_content_type_or_else_of_the_file(
    send, declared, content_type, query, title
):
    reported(send(HTML % (declared, b"\xe6"), content_type, **query))

    assert Bookmark.objects.get().title == title


@pytest.mark.parametrize(
    ("query", "attr", "code"),
    [
        ({"format": "xml"}, "format", "invalid_choice"),
        ({"format": ""}, "format", "invalid_choice"),
        ({"collection": "x"}, "collection", "does_not_exist"),
        ({"collection": ""}, "collection", "does_not_exist"),
        ({"update": "on"}, "update", "invalid"),
    ],
)
def test_an_invalid_query_is_refused(send, query, attr, code):
    assert errors(send(LINE, **query)) == [(attr, code)]
    assert not Bookmark.objects.exists()


def test_a_file_is_imported_into_one_collection(send, user_group):
    collection = CollectionFactory(user_group=user_group)

    reported(
        send(
            b'{"url": "https://example.com/", "collection": "Other"}',
            collection=collection.pk,
        )
    )

    assert [*Bookmark.objects.values_list("collection", flat=True)] == [collection.pk]
    assert Collection.objects.count() == 1


def test_everything_is_reported(send, user_group, settings):
    settings.LANGUAGE_CODE = "de"  # The API answers in English nevertheless.
    BookmarkFactory(user_group=user_group, url=URL, title="Old")
    lines = [
        {"url": URL, "title": "New"},
        {"url": f"{URL}1", "created_at": "yesterday", "unread": True},
        {"url": f"{URL}2", "collection": "a" * 300, "unread": True, "icon": "b"},
        {"url": "example.com"},
        {"collection": "Empty"},
    ]
    body = "\n".join(map(json.dumps, lines)).encode()

    first = reported(send(body))
    second = reported(send(body, update="true"))

    assert first == {
        "created": 2,
        "updated": 0,
        "existing": 1,
        "collections": 2,
        "refused": 1,
        "refusals": [
            {"line": 4, "url": "example.com", "title": "", "reason": NO_SCHEME}
        ],
        "unusable_dates": 1,
        "shortened": 1,
        "error": None,
        "stopped_at": None,
    }
    assert second == {
        **first,
        "created": 0,
        "updated": 1,
        "existing": 2,
        "collections": 0,
    }
    assert Bookmark.objects.get(url=URL).title == "New"


def test_a_thousand_refusals_for_one_reason_do_not_hide_another(send):
    found = reported(send(LINE + b'{"url": "x"}\n' * 1000 + b'{"url": "ftp://a"}\n'))

    assert found["refused"] == 1001
    lines = [(each["line"], each["reason"]) for each in found["refusals"]]
    assert lines == [
        *((line, NO_SCHEME) for line in range(2, 12)),
        (1002, "The URL is neither http nor https."),
    ]


def zipped(content):
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as written:
        written.writestr("a.jsonl", content)
    return archive.getvalue()


def test_the_file_in_a_zip_may_have_the_maximum_size(send, settings):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = 1000

    assert reported(send(zipped(LINE.ljust(1000))))["created"] == 1
    response = send(zipped(LINE.ljust(1001)))

    assert error_code(response, 400) == "unreadable_file"
    [error] = response.json()["errors"]
    assert error["detail"] == "The file in the ZIP is larger than 1000 bytes."


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "an empty file. Export the bookmarks again."),
        (CSV, "CSV. Import it in the format csv."),
        (b"<p>Text", f"plain text. {EXPORT_HTML}"),
        (b"%PDF-1.7", f"PDF. {EXPORT_HTML}"),
    ],
    ids=["empty", "csv", "no link", "binary"],
)
def test_a_file_from_which_nothing_can_be_read_is_an_error(send, body, detail):
    response = send(body, "text/html")

    detail = f"No bookmarks found. The file looks like {detail}"
    assert report_of_error(response) == {**EMPTY_REPORT, "error": detail}
    assert response.json()["errors"][0]["detail"] == detail


def test_a_file_of_which_every_record_is_refused_is_an_error(send, access_token):
    response = send(b'{"url": "x"}\n[]\n')

    assert report_of_error(response)["refused"] == 2
    [error] = response.json()["errors"]
    assert error["detail"] == (
        "All records in the file were refused. The report has the reasons."
    )
    assert not access_token.user_group.bookmarks.exists()


@pytest.mark.parametrize(
    ("content_type", "name"),
    [("application/json", "arc_sidebar.json"), ("text/html", "page_with_lists.html")],
)
def test_a_file_without_a_bookmark_leaves_no_collection(send, content_type, name):
    response = send((INPUTS / name).read_bytes(), content_type)

    assert report_of_error(response) == {
        **EMPTY_REPORT,
        "error": f"No bookmarks found. The file looks like "
        f"{'JSON' if name.endswith('json') else 'HTML'}. {EXPORT_HTML}",
    }
    assert not Collection.objects.exists()


def test_refused_bookmarks_leave_no_collection(send):
    body = b'{"collection": "A"}\n{"url": "x", "collection": "B"}\n'

    assert report_of_error(send(body))["refused"] == 1
    assert not Collection.objects.exists()


def test_an_export_of_empty_folders_is_imported(send):
    body = b"<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><H3>A</H3><DL></DL></DL>"

    first = reported(send(body, "text/html"))
    second = reported(send(body, "text/html"))

    error = "No bookmarks, only 1 empty folder."
    assert first == {**EMPTY_REPORT, "collections": 1, "error": error}
    assert second == {**EMPTY_REPORT, "error": error}


@pytest.mark.parametrize("content_type", ["application/json", None])
@pytest.mark.parametrize(
    ("file_type", "body"),
    [
        ("text/html", HTML % (b"UTF-8", b"A")),
        ("text/csv", CSV),
        ("application/json", b"[%s]" % LINE),
        ("application/jsonl", LINE),
    ],
    ids=["html", "csv", "json", "jsonl"],
)
def test_a_file_that_is_sent_as_a_string_in_json_is_an_error(
    send, content_type, file_type, body
):
    """As generated clients in some languages do."""
    file_format = FORMATS_BY_TYPE[file_type]
    assert reported(send(body, file_type))["created"] == 1

    string = json.dumps(body.decode()).encode()
    response = send(string, content_type or file_type, format=file_format)

    assert report_of_error(response)["created"] == 0


def test_a_body_that_cannot_be_stored_is_a_503(send, settings):
    settings.FILE_UPLOAD_TEMP_DIR = "/dev/null"

    assert error_code(send(LINE.ljust(2**20 + 1)), 503) == "service_unavailable"


def test_an_error_of_the_disk_does_not_mean_that_a_zip_is_damaged(send, monkeypatch):
    def fail(file):
        raise OSError(EIO, "Input/output error")

    monkeypatch.setattr(zip_content, "ZipFile", fail)
    assert send(zipped(LINE)).status_code == 503


def test_an_import_stops_at_its_time_limit(send, settings):
    settings.USERGROUPS_CALL_TIME_LIMIT = 0

    found = reported(send(LINE))

    assert (found["created"], found["stopped_at"]) == (0, 1)
    assert found["error"].startswith(
        "The import was stopped after 0 seconds, before line 1 "
    )


# Errors


def test_access_media_type_size_query_and_content_are_checked_in_this_order(
    send, access_token, settings
):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = 1000
    large = b"x" * 1001
    read_only = AccessTokenFactory(user_group=access_token.user_group, read_only=True)

    assert error_code(send(large, "", headers={"HTTP_AUTHORIZATION": None}), 401)
    assert error_code(send(large, "", token=read_only), 403)
    assert error_code(send(large, ""), 415)
    assert error_code(send(large, format="xml"), 413) == "payload_too_large"
    assert error_code(send(b"x" * 1000, format="xml"), 400)
    assert report_of_error(send(b"x" * 1000))["refused"] == 1


def test_a_chunked_body_is_read_up_to_the_limit(send, settings):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = len(LINE)
    chunked = {"CONTENT_LENGTH": None, "wsgi.input_terminated": True}
    large = io.BytesIO(LINE * 2)

    assert (
        reported(send(b"", headers={**chunked, "wsgi.input": io.BytesIO(LINE)}))[
            "created"
        ]
        == 1
    )
    assert error_code(send(b"", headers={**chunked, "wsgi.input": large}), 413)
    assert large.tell() == len(LINE) + 1


def test_a_truncated_body_is_refused_as_a_whole(send):
    truncated = {"CONTENT_LENGTH": str(len(LINE) + 1), "wsgi.input": io.BytesIO(LINE)}

    assert error_code(send(b"", headers=truncated), 400) == "parse_error"
    assert not Bookmark.objects.exists()


def test_concurrent_imports_are_limited(send, user_group):
    with ExitStack() as calls_in_progress:
        for _ in range(COSTLY_CALLS.per_owner):
            begin_call(calls_in_progress, COSTLY_CALLS, user_group.team_id)
        response = send(LINE)
    assert error_code(response, 429) == "throttled"

    with ExitStack() as calls_in_progress:
        for other_group in UserGroupFactory.create_batch(COSTLY_CALLS.in_total):
            begin_call(calls_in_progress, COSTLY_CALLS, other_group.team_id)
        assert error_code(send(LINE), 429)
    assert reported(send(LINE))["created"] == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("chunks_of_two")
def test_an_import_ends_when_the_user_group_is_deleted(send, monkeypatch):
    act_after_first_chunk(monkeypatch, lambda: UserGroup.objects.all().delete())

    assert (
        send(b"".join(b'{"url": "https://%d/"}\n' % n for n in range(6))).status_code
        == 401
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("chunks_of_two")
def test_an_import_ends_when_its_collection_is_deleted(send, collection, monkeypatch):
    act_after_first_chunk(monkeypatch, collection.delete)

    response = send(
        b"".join(b'{"url": "https://%d/"}\n' % n for n in range(6)),
        collection=collection.pk,
    )

    report = reported(response)
    assert report["created"] == 2
    assert report["error"] == "The user group has no collection with this id."


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("chunks_of_two")
@pytest.mark.parametrize(
    ("error", "status"), [(OperationalError("gone"), 503), (DatabaseError("odd"), 500)]
)
def test_a_failure_of_the_database_keeps_what_is_stored(
    send, monkeypatch, error, status
):
    def fail():
        raise error

    act_after_first_chunk(monkeypatch, fail)
    body = b"".join(b'{"url": "https://%d/"}\n' % n for n in range(6))

    assert error_code(send(body), status)
    monkeypatch.undo()  # The database works again.
    assert reported(send(body)) == {**EMPTY_REPORT, "created": 4, "existing": 2}


@pytest.mark.parametrize("size", [0, -1, 1.5, "1", None, True])
def test_the_maximum_size_must_be_a_positive_integer(db, settings, size):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = size

    assert [
        message.id for message in run_checks() if message.id.startswith("bookmarks.")
    ] == ["bookmarks.E001"]
