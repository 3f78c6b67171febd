"""Export of the bookmarks of one user group: all of them, or those that were selected in the list."""

import json

import pytest

from bookmarks.files import exporting
from tests.admin.actions import act, ask, log_in_with, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory

pytestmark = pytest.mark.django_db

BOOKMARK, EXPORT = "bookmarks_bookmark", url("bookmarks_bookmark_export")


def exported(response):
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in b"".join(response).decode().splitlines()]


def urls_of(response):
    return [each.get("url") for each in exported(response)]


@pytest.fixture
def collection(user_group):
    return CollectionFactory(user_group=user_group, name="Work")


def test_an_export_contains_the_bookmarks_and_the_empty_collections_of_the_user_group(
    admin_client, collection, monkeypatch
):
    monkeypatch.setattr(exporting, "PAGE_SIZE", 2)
    group = collection.user_group
    bookmarks = BookmarkFactory.create_batch(5, user_group=group)
    BookmarkFactory()

    begun = admin_client.get(EXPORT, {"user_group": group.pk}).content.decode()
    response = admin_client.post(EXPORT, {"user_group": group.pk, "format": "jsonl"})

    assert f'value="{group.pk}" selected' in begun
    assert urls_of(response) == [*(bookmark.url for bookmark in bookmarks), None]
    assert response["Content-Disposition"] == f'attachment; filename="{group.name.lower().replace(" ", "-")}.jsonl"'


def test_selected_bookmarks_are_exported(admin_client, collection):
    wanted, _ = BookmarkFactory.create_batch(2, user_group=collection.user_group, collection=collection)
    loose = BookmarkFactory(user_group=collection.user_group)

    page = ask(admin_client, BOOKMARK, "export_selected", wanted, loose)
    response = act(admin_client, BOOKMARK, "export_selected", wanted, loose, format="jsonl")

    assert "Export 2 bookmarks" in page.content.decode()
    assert exported(response) == [
        {
            "url": row.url,
            "title": "",
            "collection": name,
            "created_at": row.created_at.isoformat().replace("+00:00", "Z"),
        }
        for row, name in ((loose, None), (wanted, "Work"))
    ]


def test_all_rows_of_a_filtered_list_are_exported(admin_client, collection):
    wanted = BookmarkFactory.create_batch(3, user_group=collection.user_group, collection=collection)
    BookmarkFactory(user_group=collection.user_group)
    query = f"?collection__id__exact={collection.pk}"

    selected = {"query": query, "select_across": "1"}
    response = act(admin_client, BOOKMARK, "export_selected", wanted[0], **selected, format="jsonl")

    assert urls_of(response) == [bookmark.url for bookmark in wanted]


def test_a_selection_of_several_user_groups_is_refused(admin_client):
    page = ask(admin_client, BOOKMARK, "export_selected", *BookmarkFactory.create_batch(2))

    assert "Select the bookmarks of one user group." in page.content.decode()
    assert '<input type="submit" value="Export' not in page.content.decode()


def test_an_export_requires_the_permission_to_view(client, user_group):
    log_in_with(client, "add_bookmark")
    fields = {"user_group": user_group.pk, "format": "csv", "confirmed": BookmarkFactory().pk}

    for address in (EXPORT, f"{url('bookmarks_bookmark_confirm')}?action=export_selected"):
        assert client.post(address, fields).status_code == 403


def test_a_full_disk_is_reported_on_the_page(admin_client, user_group, monkeypatch):
    def full(**kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporting, "TemporaryFile", full)

    response = admin_client.post(EXPORT, {"user_group": user_group.pk, "format": "csv"})

    assert "The server cannot store the file. Try again later." in response.content.decode()
    assert "Content-Disposition" not in response
