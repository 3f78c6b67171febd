"""Uploads to the import page: those that are refused, and those that cannot be
read to their end.
"""

import gzip

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from bookmarks.models import Bookmark
from tests.admin.actions import log_in_with
from tests.bookmarks.factories import BookmarkFactory
from tests.bookmarks.imports import act_after_first_chunk, chunks_of_two  # noqa: F401
from tests.usergroups.factories import UserGroupFactory

pytestmark = pytest.mark.django_db

IMPORT = reverse("admin:bookmarks_bookmark_import")
CSV = b"url\n" + b"".join(b"https://example.com/%d\n" % n for n in range(1000))


@pytest.fixture
def user_group():
    return UserGroupFactory()


@pytest.fixture
def upload(admin_client, user_group):
    """Return a function that uploads a file as an operator and returns the
    response and the text of the page.
    """

    def upload(name="a.csv", content=CSV, client=admin_client, **fields):
        file = SimpleUploadedFile(name, content)
        response = client.post(
            IMPORT, {"user_group": user_group.pk, "file": file, **fields}, follow=True
        )
        return response, response.content.decode()

    return upload


def test_a_file_over_the_limit_is_refused(upload, settings):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = len(CSV) - 1

    _, page = upload()

    assert "The file is larger than" in page
    assert not Bookmark.objects.exists()


def test_an_upload_needs_the_csrf_token(upload):
    client = Client(enforce_csrf_checks=True)
    log_in_with(client, "add_bookmark", "add_collection", "view_usergroup")
    client.get(IMPORT)

    refused, _ = upload(client=client)
    token = client.cookies[settings.CSRF_COOKIE_NAME].value
    _, page = upload(client=client, csrfmiddlewaretoken=token)

    assert refused.status_code == 403
    assert "1000 new" in page


def test_a_compressed_file_is_imported(upload):
    _, page = upload("A.CSV.GZ", gzip.compress(CSV))

    assert "1000 new" in page


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (gzip.compress(CSV)[:-10], "The compressed file ends too early."),
        (gzip.compress(CSV) + b"nonsense", "The compressed file is damaged."),
    ],
    ids=["cut", "nonsense"],
)
def test_a_file_that_cannot_be_read_to_its_end_is_reported_with_what_was_stored(
    upload, content, problem
):
    response, page = upload("a.csv.gz", content)

    assert response.status_code == 200
    assert problem in page
    assert "1000 new" in page
    assert Bookmark.objects.count() == 1000
    assert LogEntry.objects.get().change_message == "Imported bookmarks: 1000"


def test_an_archive_is_reported_and_nothing_is_stored(upload):
    response, page = upload("a.csv.gz", b"PK\x03\x04" + CSV)

    assert response.status_code == 200
    assert "The file is an archive or another binary file." in page
    assert not Bookmark.objects.exists()
    assert not LogEntry.objects.exists()


def test_a_file_that_is_too_large_when_it_is_decompressed_is_reported(upload, settings):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = len(CSV) - 10

    response, page = upload("a.csv.gz", gzip.compress(CSV))

    assert response.status_code == 200
    assert (
        f"The file is larger than {len(CSV) - 10} bytes when it is decompressed."
        in page
    )
    assert "999 new" in page  # all but the last line, which is cut off


def test_existing_bookmarks_are_updated_if_the_operator_wants_it(upload, user_group):
    BookmarkFactory(user_group=user_group, url="https://a/", title="Old")
    content = b"url,title\nhttps://a/,New\nhttps://b/,\n"

    _, page_without_update = upload(content=content)
    _, page = upload(content=content, update="on")

    assert "updated" not in page_without_update
    assert "<li>1 updated</li>" in page
    assert "<li>1 already existed</li>" in page
    assert Bookmark.objects.get(url="https://a/").title == "New"
    assert LogEntry.objects.latest("pk").change_message == "Imported bookmarks: 1"


@pytest.mark.django_db(transaction=True)
def test_what_was_imported_before_the_database_fails_is_in_the_history(
    upload,
    monkeypatch,
    chunks_of_two,  # noqa: F811
):
    def fail():
        raise OperationalError("The disk is full.")

    act_after_first_chunk(monkeypatch, fail)  # after two of the three bookmarks

    _, page = upload(content=b"url\nhttps://a/\nhttps://b/\nhttps://c/\n")

    assert "The database failed. Try the file again." in page
    assert Bookmark.objects.count() == 2
    assert LogEntry.objects.get().change_message == "Imported bookmarks: 2"
