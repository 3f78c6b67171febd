"""Imports in the admin during which collections and user groups are deleted."""

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.urls import reverse

from bookmarks.models import Bookmark
from tests.bookmarks.imports import CSV, act_after_first_chunk, chunks_of_two, collection_names, delete_collections  # noqa: F401
from tests.usergroups.factories import UserGroupFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def after_first_chunk(monkeypatch, chunks_of_two):  # noqa: F811
    return act_after_first_chunk(monkeypatch)


@pytest.fixture
def upload(admin_client):
    user_group = UserGroupFactory()

    def post():
        page = admin_client.post(
            reverse("admin:bookmarks_bookmark_import"),
            {"user_group": user_group.pk, "file": SimpleUploadedFile("file.csv", CSV)},
            follow=True,
        )
        return page.content.decode()

    return post


def test_the_admin_logs_the_bookmarks_that_were_imported_before_a_failure(after_first_chunk, upload, admin_client):
    def fail():
        raise OperationalError("The disk is full.")

    after_first_chunk(fail)
    admin_client.raise_request_exception = False

    upload()

    assert Bookmark.objects.count() == 2
    assert LogEntry.objects.get().change_message == "Imported 2 bookmarks."
