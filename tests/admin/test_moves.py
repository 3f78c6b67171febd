"""Moving many bookmarks to a collection in the admin."""

import re

import pytest

from bookmarks.models import Bookmark, Collection
from tests.admin.actions import (
    act,
    allow_only,
    confirm,
    open_confirmation,
    open_confirmation_on_page,
    url,
)
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.queries import concurrently, queries_of
from usergroups.events import Event

pytestmark = pytest.mark.django_db

BOOKMARK = "bookmarks_bookmark"


@pytest.fixture
def collection(user_group):
    return CollectionFactory(user_group=user_group)


@pytest.fixture
def bookmarks(user_group):
    """Return three bookmarks without a collection."""
    return BookmarkFactory.create_batch(3, user_group=user_group)


def collections_of(*bookmarks):
    return [Bookmark.objects.get(pk=bookmark.pk).collection for bookmark in bookmarks]


def test_selected_bookmarks_are_moved(admin_client, collection, bookmarks):
    page = open_confirmation(admin_client, BOOKMARK, "move", *bookmarks[:2])
    assert "Move 2 bookmarks to a collection" in page.content.decode()

    done = confirm(admin_client, page, collection=collection.pk)

    assert (
        f"Moved to “{collection.name}”: 2. Already there: 0. Not moved because of a "
        "duplicate: 0." in done.content.decode()
    )
    assert collections_of(*bookmarks) == [collection, collection, None]
    assert Bookmark.objects.get(pk=bookmarks[0].pk).updated_at > bookmarks[0].updated_at
    event = Event.objects.get()
    assert event.counts == {"bookmarks.bookmark": 2}
    assert event.changes == {"collection": ["-", collection.name]}


def test_bookmarks_are_moved_out_of_a_filtered_collection(
    admin_client, user_group, collection
):
    bookmarks = BookmarkFactory.create_batch(
        2, user_group=user_group, collection=collection
    )
    query = f"?collection__id__exact={collection.pk}"
    page = open_confirmation(
        admin_client,
        BOOKMARK,
        "move",
        bookmarks[0],
        query=query,
        select_across="1",
        index="0",
    )

    for neither_or_both in ({}, {"collection": collection.pk, "no_collection": "on"}):
        refused = confirm(admin_client, page, **neither_or_both)
        assert "Choose a collection, or else “No collection”." in str(
            refused.context["form"].errors["collection"]
        )
        assert collections_of(*bookmarks) == [collection, collection]
    done = confirm(admin_client, page, no_collection="on")

    assert collections_of(*bookmarks) == [None, None]
    assert "Moved to “No collection”: 2." in done.content.decode()
    assert done.redirect_chain[-1][0] == url(f"{BOOKMARK}_changelist") + query


def test_duplicates_and_bookmarks_that_are_already_there_are_counted(
    admin_client, user_group, collection, bookmarks
):
    already_there = BookmarkFactory(
        user_group=user_group, collection=collection, url=bookmarks[0].url
    )

    done = act(
        admin_client,
        BOOKMARK,
        "move",
        *bookmarks,
        already_there,
        collection=collection.pk,
    )

    assert (
        f"Moved to “{collection.name}”: 2. Already there: 1. Not moved because of a "
        "duplicate: 1." in done.content.decode()
    )
    assert collections_of(*bookmarks, already_there) == [
        None,
        collection,
        collection,
        collection,
    ]
    assert Event.objects.get().counts == {"bookmarks.bookmark": 2}


def test_one_bookmark_is_moved_from_its_page(admin_client, collection, bookmarks):
    shown = admin_client.get(
        url(f"{BOOKMARK}_change", bookmarks[0].pk)
    ).content.decode()
    assert re.search(r'<button [^>]*name="action" value="move">Move</button>', shown)

    page = open_confirmation_on_page(admin_client, BOOKMARK, "move", bookmarks[0])
    done = confirm(admin_client, page, collection=collection.pk)

    assert done.redirect_chain[-1][0] == url(f"{BOOKMARK}_change", bookmarks[0].pk)
    assert collections_of(bookmarks[0]) == [collection]
    event = Event.objects.get()
    assert (event.kind, event.text) == ("changed", bookmarks[0].url)


def test_bookmarks_of_several_groups_are_not_moved(admin_client, collection, bookmarks):
    page = open_confirmation(
        admin_client, BOOKMARK, "move", bookmarks[0], BookmarkFactory()
    )
    keys = f"{bookmarks[0].pk},{BookmarkFactory().pk}"
    forced = admin_client.post(
        page.context["address"], {"confirmed": keys, "collection": collection.pk}
    )

    for refusal in (page, forced):
        assert "Select the bookmarks of one user group." in refusal.content.decode()
        assert '<input type="submit" value="Move' not in refusal.content.decode()
    assert not Bookmark.objects.exclude(collection=None).exists()


@pytest.mark.parametrize(
    "value", ["zzz", "\0", "9" * 30, "00000000-0000-7000-8000-000000000000", "foreign"]
)
def test_only_the_groups_own_collections_are_accepted(admin_client, bookmarks, value):
    page = open_confirmation(admin_client, BOOKMARK, "move", *bookmarks)
    if value == "foreign":
        value = CollectionFactory().pk

    answer = confirm(admin_client, page, collection=value)

    assert answer.context["form"].errors.keys() == {"collection"}
    assert collections_of(*bookmarks) == [None, None, None]


@pytest.mark.parametrize(
    ("verbs", "moved"), [(["view"], False), (["view", "change"], True)]
)
def test_moving_requires_the_permission_to_change(
    client, collection, bookmarks, verbs, moved
):
    allow_only(client, BOOKMARK, *verbs)

    page = client.get(url(f"{BOOKMARK}_change", bookmarks[0].pk))
    offered = b'value="move"' in page.content
    address = f"{url(f'{BOOKMARK}_confirm')}?action=move"
    client.post(address, {"confirmed": bookmarks[0].pk, "collection": collection.pk})

    assert offered == moved
    assert (collections_of(bookmarks[0]) == [collection]) == moved


def test_nothing_is_moved_to_a_collection_that_is_deleted_meanwhile(
    admin_client, transactional_db, user_group
):
    bookmark = BookmarkFactory(user_group=user_group)
    collection = CollectionFactory(user_group=user_group)
    page = open_confirmation(admin_client, BOOKMARK, "move", bookmark)

    # Another connection deletes the collection just before the bookmarks are
    # read.
    with concurrently(
        'SELECT "bookmarks_bookmark"."created_at"',
        f"DELETE FROM bookmarks_collection WHERE id = '{collection.pk}'",
    ):
        done = confirm(admin_client, page, collection=collection.pk)

    assert done.status_code == 200
    assert not Collection.objects.exists()
    assert collections_of(bookmark) == [None]
    assert not Event.objects.exists()


def test_moving_takes_the_same_queries_for_few_and_for_many_bookmarks(
    admin_client, user_group, collection
):
    numbers = []
    address = f"{url(f'{BOOKMARK}_confirm')}?action=move"
    # The first round caches the content type of the history.
    for number in (1, 2, 100):
        bookmarks = Bookmark.objects.bulk_create(
            Bookmark(user_group=user_group, url=f"https://example.com/{number}/{n}")
            for n in range(number)
        )
        keys = ",".join(str(bookmark.pk) for bookmark in bookmarks)
        form = {"confirmed": keys, "collection": collection.pk}
        numbers.append(len(queries_of(admin_client.post, address, form)))

    # Session and user. The rows and the chosen collection. The rows and the
    # collection, locked. To move: the rows again, the bookmarks with these
    # URLs, and the update. The event, and Django's entries in two statements.
    assert numbers[1:] == [12, 12]
