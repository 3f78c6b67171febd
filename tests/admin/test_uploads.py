"""Uploads to the import page: those that are refused, and those that cannot be
read to their end.
"""

import io
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from bookmarks.models import Bookmark, Collection
from tests.admin.actions import log_in_with
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import act_after_first_chunk, chunks_of_two  # noqa: F401
from tests.usergroups.factories import UserGroupFactory
from usergroups.events import Event

pytestmark = pytest.mark.django_db

IMPORT = reverse("admin:bookmarks_bookmark_import")
CSV = b"url\n" + b"".join(b"https://example.com/%d\n" % n for n in range(1000))


@pytest.fixture
def user_group():
    return UserGroupFactory()


@pytest.fixture
def upload(admin_client, user_group):
    """Return a function that uploads a file as an operator and returns the page
    that follows.
    """

    def upload(name="a.csv", content=CSV, client=admin_client, **fields):
        file = SimpleUploadedFile(name, content)
        response = client.post(
            IMPORT, {"user_group": user_group.pk, "file": file, **fields}, follow=True
        )
        return response.content.decode()

    return upload


def test_a_file_over_the_limit_is_refused(upload, settings):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = len(CSV) - 1

    page = upload()

    assert "The file is larger than" in page
    assert not Bookmark.objects.exists()


def test_an_upload_needs_the_csrf_token(upload):
    client = Client(enforce_csrf_checks=True)
    log_in_with(client, "add_bookmark", "add_collection", "view_usergroup")
    client.get(IMPORT)

    assert "The form was not accepted" in upload(client=client)
    token = client.cookies[settings.CSRF_COOKIE_NAME].value
    assert "1,000 new" in upload(client=client, csrfmiddlewaretoken=token)


def zipped(*names):
    """Return a ZIP that contains CSV under these names."""
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as written:
        for name in names:
            written.writestr(name, CSV)
    return archive.getvalue()


def test_the_file_in_a_zip_is_imported(upload):
    assert "1,000 new" in upload("A.ZIP", zipped("B.CSV"))


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.zip", zipped("a.csv", "b.csv"), "A ZIP must contain one file."),
        ("a.zip", zipped("a.csv")[:-10], "The ZIP is damaged or encrypted."),
        ("a.csv", b"%PDF-1.7", "The file looks like PDF."),
    ],
    ids=["two files", "cut", "binary"],
)
def test_a_file_that_cannot_be_opened_is_an_error_of_the_form(
    upload, name, content, problem
):
    page = upload(name, content)

    assert problem in page
    assert not Bookmark.objects.exists()


def test_a_damaged_file_is_reported_with_what_was_stored(upload):
    page = upload("a.json", b'[{"url": "https://a/"}, x]')

    assert "The file cannot be read after 1 bookmarks" in page
    assert "<li>1 new</li>" in page
    assert Event.objects.get().counts["new"] == 1


def test_the_encoding_of_a_file_can_be_named(upload):
    content = "url,title\nhttps://a/,Привет\n".encode("koi8-r")

    assert "1 refused" in upload(content=content)
    assert "1 new" in upload(content=content, encoding="koi")
    assert Bookmark.objects.get().title == "Привет"


def test_an_unknown_encoding_is_an_error_of_the_form(upload):
    page = upload(encoding="unheard-of")

    assert "unheard-of is not the name of an encoding of text." in page
    assert not Bookmark.objects.exists()


def test_a_file_is_imported_into_a_chosen_collection(upload, user_group):
    collection = CollectionFactory(user_group=user_group)
    content = b"url,collection\nhttps://a/,Another\n"

    assert "1 new" in upload(content=content, collection=collection.pk)
    assert Bookmark.objects.get().collection == collection
    assert Collection.objects.count() == 1


def test_a_collection_of_another_user_group_is_an_error_of_the_form(upload):
    page = upload(collection=CollectionFactory().pk)

    assert "The user group has no such collection." in page
    assert not Bookmark.objects.exists()


def test_existing_bookmarks_are_updated_if_the_operator_wants_it(upload, user_group):
    BookmarkFactory(user_group=user_group, url="https://a/", title="Old")
    content = b"url,title\nhttps://a/,New\nhttps://b/,\n"

    assert "updated" not in upload(content=content)
    page = upload(content=content, update="on")

    assert "<li>1 updated</li>" in page
    assert "<li>1 already existed</li>" in page
    assert Bookmark.objects.get(url="https://a/").title == "New"
    assert Event.objects.latest("pk").counts["updated"] == 1


@pytest.mark.django_db(transaction=True)
def test_what_was_imported_before_the_database_fails_is_in_the_history(
    upload,
    monkeypatch,
    chunks_of_two,  # noqa: F811
):
    def fail():
        raise OperationalError("The disk is full.")

    act_after_first_chunk(monkeypatch, fail)  # after two of the three bookmarks

    page = upload(content=b"url\nhttps://a/\nhttps://b/\nhttps://c/\n")

    assert "The database failed. Try the file again." in page
    assert Bookmark.objects.count() == 2
    assert Event.objects.get().counts["new"] == 2
