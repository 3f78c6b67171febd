"""Export of the bookmarks that a list shows, or that were selected in it."""

import csv
import io
import json
from urllib.parse import quote

import pytest

from bookmarks.files import exporting
from bookmarks.models import Bookmark
from tests.admin.actions import address_of, ask, log_in_with, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.queries import queries_of
from tests.usergroups.factories import UserGroupFactory

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


@pytest.mark.parametrize("name", ["jsonl", "csv"])
def test_a_file_with_several_groups_names_the_owners(admin_client, collection, name):
    group = collection.user_group
    other = UserGroupFactory(team=group.team, environment="Testing")
    rows = [BookmarkFactory(user_group=group, collection=collection), BookmarkFactory(user_group=other)]

    response = admin_client.post(address(FILTERS["team"](rows[0])), {"format": name})
    text = b"".join(response.streaming_content).decode()
    read = {"jsonl": lambda: [*map(json.loads, text.splitlines())], "csv": lambda: [*csv.DictReader(io.StringIO(text))]}

    assert [{key: value or "" for key, value in each.items()} for each in read[name]()] == [
        {
            "team": group.team.name,
            "environment": owner.environment,
            "user_group_id": owner.provided_id,
            "url": row.url,
            "title": "",
            "collection": place,
            "created_at": row.created_at.isoformat().replace("+00:00", "Z"),
        }
        for owner, row, place in ((group, rows[0], "Work"), (other, rows[1], ""))
    ]
    assert response["Content-Disposition"] == f'attachment; filename="bookmarks.{name}"'


def test_the_export_of_a_user_group_has_its_empty_collections(admin_client, collection):
    response = admin_client.post(address(f"user_group__id__exact={collection.user_group_id}"), {"format": "jsonl"})

    assert exported(response) == [{"collection": "Work"}]


def test_html_is_not_offered_for_several_groups(admin_client, user_group):
    filters = f"user_group__team__id__exact={user_group.team_id}"

    page = admin_client.get(address(filters)).content.decode()
    refused = admin_client.post(address(filters), {"format": "html"})

    assert 'value="html"' not in page
    assert "only for the bookmarks of one user group" in page
    assert refused.context["form"].errors.keys() == {"format"}


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


def test_an_export_of_several_groups_takes_a_query_for_each_page(admin_client):
    groups = UserGroupFactory.create_batch(3)
    Bookmark.objects.bulk_create(
        Bookmark(user_group=groups[n % 3], url=f"https://example.com/{n}") for n in range(2100)
    )

    def export():
        assert len(urls_of(admin_client.post(address("q=example"), {"format": "jsonl"}))) == 2100

    # Session, user, the count, the first and the last user group, and pages of 2,000: two, and an empty one.
    assert len(queries_of(export)) == 7


def test_a_full_disk_is_reported_on_the_page(admin_client, user_group, monkeypatch):
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

    assert exported(admin_client.post(f"{EXPORT}?keys={keys}", {"format": "jsonl"})) == []
