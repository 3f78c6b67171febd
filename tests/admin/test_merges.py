"""Merging collections of a user group in the admin."""

from datetime import timedelta

import pytest
from django.db.models import ProtectedError

from bookmarks.deletion_log import Deletion
from bookmarks.models import Bookmark, Collection
from bookmarks.querysets.collections import CollectionQuerySet
from tests.admin.actions import (
    act,
    confirm,
    log_in_with,
    open_confirmation,
    url,
)
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.queries import queries_of
from tests.signals import received
from usergroups.events import Event

pytestmark = pytest.mark.django_db

MODEL = "bookmarks_collection"
NAMES = ("bookmark", "collection")
SHARED = "https://example.com/shared"


@pytest.fixture
def collections(user_group):
    """Return three collections of the user group."""
    return CollectionFactory.create_batch(3, user_group=user_group)


def add(collection, **fields):
    return BookmarkFactory(
        user_group=collection.user_group, collection=collection, **fields
    )


def merge(client, kept, *others):
    return act(client, MODEL, "merge", kept, *others, kept=kept.pk)


def bookmarks_of(collection):
    return set(Bookmark.objects.filter(collection=collection))


def test_bookmarks_move_and_the_emptied_collections_are_deleted(
    admin_client, collections, django_capture_on_commit_callbacks
):
    kept, *others = collections
    stays = add(kept)
    moved = [add(others[0]), add(others[0]), add(others[1])]

    with received() as sent, django_capture_on_commit_callbacks(execute=True):
        done = merge(admin_client, kept, *others)

    assert (
        f"Merged into “{kept.name}”: 2 collections. Bookmarks moved: 3. Deleted "
        "because of a duplicate: 0." in done.content.decode()
    )
    assert list(Collection.objects.all()) == [kept]
    assert bookmarks_of(kept) == {stays, *moved}
    deletions = Deletion.objects.values_list("object_type", "object_id")
    assert set(deletions) == {("collection", other.pk) for other in others}
    assert [(each.name, each.sender) for each in sent] == [
        ("updated", Bookmark),
        ("deleted", Collection),
    ]
    assert sent[0].arguments["fields"] == {"collection"}
    assert set(sent[0].arguments["instances"]) == set(moved)
    change, deletion = Event.objects.order_by("pk")
    assert (change.kind, change.text) == ("merged", str(kept))
    assert (deletion.kind, deletion.counts) == (
        "deleted",
        {"bookmarks.collection": 2},
    )


def test_one_of_several_bookmarks_with_the_same_url_is_kept(admin_client, collections):
    kept, *others = collections
    stays = add(kept, url=SHARED, tags=["a"])
    first = add(others[0], url=SHARED, tags=["A", "b"], note="First", title="First")
    second = add(others[1], url=SHARED, tags=["c"], note="Second", title="Lost")

    done = merge(admin_client, kept, *others)

    assert (
        "Bookmarks moved: 0. Deleted because of a duplicate: 2."
        in done.content.decode()
    )
    stays.refresh_from_db()
    assert list(Bookmark.objects.all()) == [stays]
    assert (stays.title, stays.tags, stays.note) == ("First", ["a", "b", "c"], "First")
    deleted = Deletion.objects.filter(object_type="bookmark")
    assert set(deleted.values_list("object_id", flat=True)) == {first.pk, second.pk}


@pytest.mark.parametrize("index", [0, 1], ids=["inside", "outside"])
def test_the_oldest_stays_wherever_it_is(admin_client, collections, index):
    kept, *others = collections
    young = add(collections[index], url=SHARED, tags=["young"])
    a_day_before = young.created_at - timedelta(days=1)
    old = add(others[-1], url=SHARED, tags=["old"], created_at=a_day_before)

    merge(admin_client, kept, *others)

    assert list(Bookmark.objects.all()) == [old]
    old.refresh_from_db()
    assert (old.collection, old.tags) == (kept, ["old", "young"])


def test_two_collections_of_one_user_group_are_required(admin_client, collections):
    foreign = CollectionFactory()
    refusals = [
        ("Select the collections of one user group.", [collections[0], foreign]),
        ("Select at least two collections.", [collections[0]]),
    ]

    for text, selected in refusals:
        page = open_confirmation(admin_client, MODEL, "merge", *selected)
        assert text in page.content.decode()
        keys = ",".join(str(each.pk) for each in selected)
        fields = {"confirmed": keys, "kept": collections[0].pk}
        forced = admin_client.post(f"{url(f'{MODEL}_confirm')}?action=merge", fields)
        assert text in forced.content.decode()

    assert Collection.objects.count() == 4


def test_the_collection_that_stays_must_be_selected(admin_client, collections):
    page = open_confirmation(admin_client, MODEL, "merge", *collections)
    button = '<input type="submit" value="Merge 3 collections" class="button irrever'
    assert button in page.content.decode()
    checked = [each.pk for each in collections[1:]]

    for kept in ("", "zzz", collections[0].pk):
        answer = confirm(admin_client, page, confirmed=checked, kept=kept)
        assert answer.context["form"].errors.keys() == {"kept"}

    assert Collection.objects.count() == 3


def test_a_merge_of_too_many_bookmarks_is_refused(
    admin_client, collections, monkeypatch
):
    monkeypatch.setattr("bookmarks.querysets.collections.MAX_MERGED", 1)
    kept, *others = collections
    for other in others:
        add(other)

    done = merge(admin_client, kept, *others)

    text = "Nothing was changed, because more than 1,000 bookmarks would move."
    assert text in done.content.decode()
    assert Collection.objects.count() == 3
    assert not bookmarks_of(kept)


def test_a_merge_that_is_prevented_changes_nothing(
    admin_client, collections, monkeypatch
):
    kept, other, _ = collections
    bookmark = add(other)

    def refuse(self):
        raise ProtectedError("", {kept})

    monkeypatch.setattr(CollectionQuerySet, "delete", refuse)

    done = merge(admin_client, kept, other)

    assert "because these objects prevent it: collection" in done.content.decode()
    assert bookmarks_of(other) == {bookmark}
    assert not Event.objects.exists()


def test_merging_requires_the_permissions_to_change_and_to_delete(client, collections):
    needed = {f"{verb}_{name}" for verb in ("change", "delete") for name in NAMES}

    def merge_two():
        keys = ",".join(str(each.pk) for each in collections[:2])
        fields = {"confirmed": keys, "kept": collections[0].pk}
        client.post(f"{url(f'{MODEL}_confirm')}?action=merge", fields)
        return Collection.objects.count() == 2

    for lacking in needed:
        log_in_with(client, "view_collection", *(needed - {lacking}))
        assert not merge_two(), lacking
    log_in_with(client, "view_collection", *needed)
    assert merge_two()


def test_merging_takes_the_same_queries_for_few_and_for_many_rows(
    admin_client, user_group
):
    numbers = []
    address = f"{url(f'{MODEL}_confirm')}?action=merge"
    # The first round caches the content type of the history.
    for number in (1, 2, 30):
        kept, *others = CollectionFactory.create_batch(
            number + 1, user_group=user_group
        )
        for other in others:
            add(kept, url=f"https://example.com/{other.pk}")
            add(other, url=f"https://example.com/{other.pk}", tags=["new"])
            add(other)
        keys = ",".join(str(each.pk) for each in [kept, *others])
        form = {"confirmed": keys, "kept": kept.pk}
        numbers.append(len(queries_of(admin_client.post, address, form)))

    assert numbers[1:] == [27, 27]
