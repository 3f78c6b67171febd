"""The pages of lists.

Their items are user groups, bookmarks, collections, access tokens or deletions:
the tests run for each of them.
"""

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.db import connections
from django.utils import timezone

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
    DeletionFactory,
)
from tests.operations import caller
from tests.usergroups.factories import UserGroupFactory
from usergroups.models import UserGroup

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
LISTS = {
    "list_user_groups": (
        "user_groups",
        "provided_id",
        lambda group, time: UserGroupFactory(
            team=group.team, created_at=time, updated_at=time
        ),
    ),
    "list_bookmarks": (
        "bookmarks",
        "id",
        lambda group, time: BookmarkFactory(
            user_group=group, created_at=time, updated_at=time
        ),
    ),
    "list_collections": (
        "collections",
        "id",
        lambda group, time: CollectionFactory(
            user_group=group, created_at=time, updated_at=time
        ),
    ),
    "list_team_access_tokens": (
        "access_tokens",
        "id",
        lambda group, time: AccessTokenFactory(
            user_group__team=group.team, created_at=time
        ),
    ),
    "list_deletions": (
        "deletions",
        "id",
        lambda group, time: DeletionFactory(user_group=group, deleted_at=time),
    ),
}
"""By operation, the name of its list, the field that identifies an item, and a
function that creates a row.
"""

PATHS = [
    "list_user_groups",
    "list_user_groups?name=Group",
    "list_user_groups?updated_since=2000-01-01T00:00:00Z",
    "list_bookmarks",
    "list_bookmarks?updated_since=2000-01-01T00:00:00Z",
    "list_bookmarks?updated_since=2000-01-01T00:00:00Z&q=example",
    "list_collections",
    "list_collections?updated_since=2000-01-01T00:00:00Z",
    "list_team_access_tokens",
    "list_deletions?since=2000-01-01T00:00:00Z",
]
"""The operations, with filters."""


class Listing:
    """A list of the API: its pages, and the rows on them."""

    def __init__(self, api_client, user_group, path):
        operation, _, filters = path.partition("?")
        self.call = caller(api_client, user_group, operation)
        self.user_group = user_group
        self.name, self.key, self.create = LISTS[operation]
        self.filters = dict(parse_qsl(filters))

    def page(self, link="?"):
        """Return the page that a link leads to.

        The link may be only a query string, without the filters.
        """
        query = dict(parse_qsl(link.partition("?")[2]))
        if "cursor" not in query:
            query = {**self.filters, **query}
        response = self.call(query=query)
        assert response.status_code == 200
        return response.json()

    def keys(self, page):
        return [item[self.key] for item in page[self.name]]

    def follow(self, link):
        """Return the keys on each page from a link to the end of the list."""
        pages = []
        while link:
            page = self.page(link)
            pages.append(self.keys(page))
            link = page["next"]
        return pages

    def make(self, time):
        """Create a row with this time and return its key."""
        row = self.create(self.user_group, time)
        if self.name == "access_tokens":
            return row.public_id
        return str(getattr(row, self.key))


@pytest.fixture(params=PATHS)
def listing(request, api_client, user_group, settings):
    settings.USERGROUPS_DELETION_RETENTION_DAYS = 36_500
    # so that ``user_group`` is not in the list of user groups
    UserGroup.objects.update(environment="Testing")
    return Listing(api_client, user_group, request.param)


def test_rows_with_the_same_time_are_listed_exactly_once(listing):
    made = {listing.make(MOMENT) for _ in range(11)}

    pages = listing.follow("?limit=3")

    assert len(pages) == 4
    assert sorted(key for keys in pages for key in keys) == sorted(made)


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize(
    "days", [[*range(1, 8)], [1] * 7], ids=["different times", "the same time"]
)
def test_previous_links_lead_to_the_same_pages(listing, days, order):
    for day in days:
        listing.make(MOMENT.replace(day=day))
    first = listing.page(f"?limit=2&order={order}")
    second = listing.page(first["next"])
    third = listing.page(second["next"])

    second_again = listing.page(third["previous"])
    first_again = listing.page(second_again["previous"])

    assert listing.keys(second_again) == listing.keys(second)
    assert listing.keys(first_again) == listing.keys(first)
    assert second_again["next"]
    assert first["previous"] is None
    assert first_again["previous"] is None


NEWEST_FIRST = [MOMENT.replace(day=day) for day in (6, 5, 4, 3, 2, 1)]


def test_new_rows_do_not_shift_the_following_pages(listing):
    made = [listing.make(time) for time in NEWEST_FIRST]
    first = listing.page("?limit=2")

    listing.make(MOMENT.replace(month=2))  # newer than the first page
    on_the_last_page = listing.make(MOMENT)

    shown = [key for keys in listing.follow(first["next"]) for key in keys]
    assert listing.keys(first) == made[:2]
    assert [key for key in shown if key != on_the_last_page] == made[2:]


def test_deleted_rows_do_not_shift_the_following_pages(listing):
    made = [listing.make(time) for time in NEWEST_FIRST]
    first = listing.page("?limit=2")
    assert listing.keys(first) == made[:2]

    last_of_the_page = NEWEST_FIRST[1]
    for model in (UserGroup, Bookmark, Collection, AccessToken):
        model.objects.filter(created_at=last_of_the_page).delete()

    assert listing.follow(first["next"]) == [made[2:4], made[4:6]]


def test_a_list_from_the_oldest_ends_while_rows_are_added_faster_than_it_is_read(
    listing,
):
    made_before = [listing.make(MOMENT.replace(day=day)) for day in range(1, 6)]
    page = listing.page("?limit=2&order=oldest")
    shown = listing.keys(page)
    for _ in range(2):
        added = [listing.make(timezone.now()) for _ in range(3)]
        page = listing.page(page["next"])
        shown += listing.keys(page)

    assert shown == made_before
    assert page["next"] is None
    assert set(added) <= set(listing.keys(listing.page("?limit=200&order=oldest")))


def test_the_limit_sets_the_size_of_a_page(listing):
    for _ in range(201):
        listing.make(MOMENT)

    pages = [
        listing.page(query) for query in ("?", "?limit=200", "?limit=201", "?limit=1")
    ]
    # 50 by default, at most 200
    assert [len(listing.keys(page)) for page in pages] == [50, 200, 200, 1]


def test_links_are_absolute_and_keep_the_parameters(listing):
    for _ in range(3):
        listing.make(MOMENT)

    link = listing.page("?limit=1&order=oldest")["next"]

    assert {"limit=1", "order=oldest"} < {*urlsplit(link).query.split("&")}
    assert link.startswith("http://testserver/")


@pytest.fixture
def tokyo(monkeypatch, db):
    """Set the time zone of the database connection, as a host's DATABASES may."""
    connection = connections["default"]
    for name in ("timezone", "timezone_name"):
        connection.__dict__.pop(name, None)
    monkeypatch.setitem(connection.settings_dict, "TIME_ZONE", "Asia/Tokyo")
    connection.ensure_timezone()
    yield
    monkeypatch.undo()
    for name in ("timezone", "timezone_name"):
        connection.__dict__.pop(name, None)
    connection.ensure_timezone()


@pytest.mark.usefixtures("tokyo")
def test_pages_do_not_depend_on_the_time_zone_of_the_database(listing):
    made = [listing.make(time) for time in NEWEST_FIRST]

    assert listing.follow("?limit=2") == [made[:2], made[2:4], made[4:]]
    assert listing.follow("?limit=4&order=oldest") == [made[:1:-1], made[1::-1]]
