"""Export of the bookmarks that a list shows, or that were selected in it."""

import json
from urllib.parse import quote

import pytest

from bookmarks.files import exporting
from tests.admin.actions import address_of, ask, log_in_with, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory

pytestmark = pytest.mark.django_db

BOOKMARK, EXPORT, LIST = "bookmarks_bookmark", url("bookmarks_bookmark_export"), url("bookmarks_bookmark_changelist")


@pytest.fixture
def collection(user_group):
    return CollectionFactory(user_group=user_group, name="Work")


def address(filters):
    return f"{EXPORT}?_changelist_filters={quote(filters)}"


def exported(response):
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in b"".join(response.streaming_content).decode().splitlines()]


def urls_of(response):
    return [each["url"] for each in exported(response)]


FILTERS = {
    "group": lambda wanted: f"user_group__id__exact={wanted.user_group_id}&q=example",
    "team": lambda wanted: f"user_group__team__id__exact={wanted.user_group.team_id}",
    "collection": lambda wanted: f"collection__id__exact={wanted.collection_id}",
    "search": lambda wanted: "q=WANTED",
    "several": lambda wanted: (
        f"user_group__id__exact={wanted.user_group_id}&collection__id__exact={wanted.collection_id}"
    ),
}


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
def test_an_export_from_a_filtered_list_contains_what_the_list_shows(admin_client, collection, filters):
    wanted = BookmarkFactory(user_group=collection.user_group, collection=collection, title="Wanted")
    BookmarkFactory(url="https://other.test/")

    response = admin_client.post(address(filters(wanted)), {"format": "jsonl"})

    assert urls_of(response) == [wanted.url]


def test_the_page_says_how_many_bookmarks_are_exported(admin_client, collection):
    bookmark = BookmarkFactory(user_group=collection.user_group, collection=collection)

    page = admin_client.get(address(f"{FILTERS['several'](bookmark)}&q=EXAMPLE"))

    assert "This exports the bookmarks of the list: 1." in page.content.decode()
    assert 'value="html"' in page.content.decode()


def test_the_export_of_a_user_group_has_its_empty_collections(admin_client, collection):
    response = admin_client.post(address(f"user_group__id__exact={collection.user_group_id}"), {"format": "jsonl"})

    assert exported(response) == [{"collection": "Work"}]


def test_bookmarks_of_several_groups_are_refused(admin_client):
    BookmarkFactory.create_batch(2)

    for answer in (admin_client.get(address("q=example")), admin_client.post(address("q=example"), {"format": "csv"})):
        assert "A file has the bookmarks of one user group." in answer.content.decode()
        assert "Content-Disposition" not in answer


def test_selected_bookmarks_are_exported(admin_client, user_group):
    wanted, _ = BookmarkFactory.create_batch(2, user_group=user_group)

    page = ask(admin_client, BOOKMARK, "export_selected", wanted)
    assert "This exports the selected bookmarks: 1." in page.content.decode()
    response = admin_client.post(address_of(page), {"format": "jsonl"})

    assert exported(response) == [
        {
            "url": wanted.url,
            "title": "",
            "collection": None,
            "created_at": wanted.created_at.isoformat().replace("+00:00", "Z"),
        }
    ]


def test_the_export_of_all_rows_of_a_list_has_no_limit(admin_client, user_group, monkeypatch):
    monkeypatch.setattr(exporting, "PAGE_SIZE", 2)
    bookmarks = BookmarkFactory.create_batch(5, user_group=user_group)
    query = f"?user_group__team__id__exact={user_group.team_id}"

    page = ask(admin_client, BOOKMARK, "export_selected", bookmarks[0], query=query, select_across="1", index="0")
    response = admin_client.post(address_of(page), {"format": "jsonl"})

    assert urls_of(response) == [bookmark.url for bookmark in bookmarks]


def test_an_export_requires_the_permission_to_view(client):
    log_in_with(client, "add_bookmark")
    bookmark = BookmarkFactory()

    answer = client.post(address("q=example"), {"format": "csv"})
    selected = client.post(EXPORT, {"format": "csv", "selected": bookmark.pk})

    assert answer.status_code == selected.status_code == 403


def test_a_full_disk_is_reported_on_the_page(admin_client, monkeypatch):
    BookmarkFactory()

    def full(**kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporting, "TemporaryFile", full)

    response = admin_client.post(EXPORT, {"format": "csv"})

    assert "The server cannot store the file. Try again later." in response.content.decode()
    assert "Content-Disposition" not in response


@pytest.mark.parametrize("filters", ["user_group__id__exact=zzz", "collection__id__exact=1"])
def test_an_invalid_filter_exports_nothing(admin_client, filters):
    BookmarkFactory()

    for answer in (admin_client.get(address(filters)), admin_client.post(address(filters), {"format": "csv"})):
        assert (answer.status_code, answer.url) == (302, f"{LIST}?e=1")


@pytest.mark.parametrize("keys", ["", "zzz", "9" * 30, "00000000-0000-7000-8000-000000000000"])
def test_an_invalid_selection_exports_nothing(admin_client, keys):
    BookmarkFactory()

    assert "Content-Disposition" not in admin_client.post(f"{EXPORT}?keys={keys}", {"format": "jsonl"})
