"""Each statement of the admin that locks, updates or deletes bookmarks or
collections names the user group, because Citus can lock only rows of one shard
in a statement.
"""

import re

import pytest
from django.core.management import call_command

from bookmarks.models import Bookmark, Collection
from tests.admin.actions import act, form_at, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.citus.test_shards import check, receivers  # noqa: F401
from tests.queries import queries_of

pytestmark = pytest.mark.usefixtures("receivers")

FACTORIES = {
    "bookmarks_bookmark": BookmarkFactory,
    "bookmarks_collection": CollectionFactory,
}
WRITES = re.compile("^(UPDATE|DELETE)|FOR (NO KEY )?UPDATE")


def check_writes(statements):
    """Check the statements that lock, update or delete rows."""
    check([sql for sql in statements if WRITES.search(sql)])


def delete_all(client, model):
    objects = list(FACTORIES[model]._meta.model.objects.all())
    act(client, model, "delete_selected", *objects)


@pytest.mark.parametrize(
    ("model", "field"),
    [("bookmarks_bookmark", "title"), ("bookmarks_collection", "name")],
)
def test_a_change_names_the_user_group(admin_client, model, field):
    [row, _] = FACTORIES[model].create_batch(2)
    address = url(f"{model}_change", row.pk)
    form = {**form_at(admin_client, address), "collection": "", field: "New"}

    check_writes(queries_of(admin_client.post, address, form))

    row.refresh_from_db()
    assert getattr(row, field) == "New"


def test_deleting_bookmarks_of_several_user_groups_names_each_group(admin_client):
    BookmarkFactory.create_batch(8)

    check_writes(queries_of(delete_all, admin_client, "bookmarks_bookmark"))

    assert not Bookmark.objects.exists()


def collections_with_duplicates():
    """Create collections of several user groups, each with a bookmark whose
    URL is also outside of it.
    """
    for collection in CollectionFactory.create_batch(8):
        owner = {"user_group": collection.user_group, "url": "https://example.com/"}
        BookmarkFactory(**owner)
        BookmarkFactory(**owner, collection=collection)


def test_deleting_collections_of_several_user_groups_names_each_group(admin_client):
    collections_with_duplicates()

    check_writes(queries_of(delete_all, admin_client, "bookmarks_collection"))

    assert not Collection.objects.exists()
    assert Bookmark.objects.filter(collection=None).count() == 8


def test_deleting_collections_in_python_names_each_group(db):
    collections_with_duplicates()

    check_writes(queries_of(Collection.objects.first().delete))
    check_writes(queries_of(Collection.objects.all().delete))

    assert not Collection.objects.exists()
    assert Bookmark.objects.count() == 8


def test_the_command_that_deletes_a_collection_names_the_user_group(admin_user):
    collections_with_duplicates()
    collection = Collection.objects.first()

    key = str(collection.pk)
    options = {"operator": admin_user.username, "yes": True}

    check_writes(
        queries_of(
            lambda: call_command(
                "delete_object", "bookmarks.Collection", key, **options
            )
        )
    )

    assert Collection.objects.count() == 7
