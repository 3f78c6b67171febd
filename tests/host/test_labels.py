"""The tables and the admin if the labels of the apps are ``teams`` and
``links``: see settings_labelled.py.
"""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = pytest.mark.django_db


def test_no_migration_is_missing():
    call_command("makemigrations", "--check", "--dry-run")


def test_the_tables_have_the_labels_in_their_names():
    assert (UserGroup._meta.db_table, Bookmark._meta.db_table) == (
        "teams_usergroup",
        "links_bookmark",
    )


@pytest.mark.parametrize("page", ["changelist", "add"])
@pytest.mark.parametrize(
    "model", [Team, UserGroup, ApiToken, Collection, Bookmark, AccessToken]
)
def test_the_admin_has_its_pages(admin_client, model, page):
    BookmarkFactory()

    url_name = f"{model._meta.app_label}_{model._meta.model_name}_{page}"
    response = admin_client.get(reverse(f"admin:{url_name}"))

    assert response.status_code == 200


def test_a_file_is_imported_in_the_admin(admin_client):
    user_group = BookmarkFactory().user_group
    file = SimpleUploadedFile(
        "bookmarks.jsonl", b'{"url": "https://example.com/imported"}'
    )

    admin_client.post(
        reverse("admin:links_bookmark_import"),
        {"user_group": user_group.pk, "file": file},
        follow=True,
    )

    assert user_group.bookmarks.filter(url="https://example.com/imported").exists()
