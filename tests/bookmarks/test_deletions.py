"""The lists of deletions: what they contain, however it was deleted, and for
how long.
"""

from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from bookmarks.deleted_bookmarks import Deletion
from bookmarks.files.records import Record
from bookmarks.models import Bookmark, Collection
from tests.admin import actions
from tests.answers import errors
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    DeletionFactory,
)
from tests.bookmarks.imports import imported
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.deleted_user_groups import UserGroupDeletion
from usergroups.models import UserGroup

URL = "https://example.com/"


def since():
    return {"since": (timezone.now() - timedelta(hours=1)).isoformat()}


@pytest.fixture
def listed(call_bookmarks):
    """Return a function that lists the deletions, as pairs of type and id."""

    def call(**token):
        page = call_bookmarks("GET", "deletions", query=since(), **token)
        assert page.status_code == 200
        return [(item["type"], item["id"]) for item in page.json()["deletions"]]

    return call


@pytest.fixture
def listed_groups(call_usergroups):
    """Return a function that lists the ids of deleted user groups."""

    def call(**token):
        page = call_usergroups("GET", "users-deletions", query=since(), **token)
        assert page.status_code == 200
        return [item["user_group_id"] for item in page.json()["deletions"]]

    return call


@pytest.fixture
def bookmarks(user_group, collection):
    """Return bookmarks of the user group and its collection. Others stay."""
    BookmarkFactory(user_group=user_group)
    BookmarkFactory()
    return BookmarkFactory.create_batch(2, user_group=user_group, collection=collection)


def test_a_deletion_has_exactly_these_fields(call_bookmarks, user_group):
    bookmark = BookmarkFactory(user_group=user_group)
    before = timezone.now()
    bookmark.delete()

    response = call_bookmarks("GET", "deletions", query=since())

    [deletion] = response.json()["deletions"]
    time = deletion.pop("deleted_at")
    assert before <= datetime.fromisoformat(time) <= timezone.now()
    assert response.json() == {
        "success": 1,
        "deletions": [{"type": "bookmark", "id": str(bookmark.pk)}],
        "next": None,
        "previous": None,
        "next_cursor": None,
    }


WAYS = {
    "the admin": lambda row, client: actions.act(
        client,
        row._meta.label_lower.replace(".", "_"),
        "delete_selected",
        row,
        name=getattr(row, "name", ""),
    ),
    "the command": lambda row, client: call_command(
        "delete_object", row._meta.label, str(row.pk), operator="admin", yes=True
    ),
    "an instance": lambda row, client: row.delete(),
    "a queryset": lambda row, client: type(row).objects.filter(pk=row.pk).delete(),
}
"""The ways to delete a row besides the calls, with the client of an operator."""


@pytest.fixture
def delete(admin_client, call_bookmarks, call_usergroups):
    """Return a function that deletes a row in one of the WAYS, or by "DELETE"
    or "a batch".
    """

    def group_id(row):
        return {"user_group_id": row.provided_id}

    calls = {
        Bookmark: {
            "DELETE": lambda row: call_bookmarks("DELETE", "bookmark", row.pk),
            "a batch": lambda row: call_bookmarks(
                "POST", "bookmarks-batch-delete", body={"ids": [str(row.pk)]}
            ),
        },
        Collection: {
            "DELETE": lambda row: call_bookmarks("DELETE", "collection", row.pk),
        },
        UserGroup: {
            "DELETE": lambda row: call_usergroups(
                "DELETE", "user", query=group_id(row)
            ),
            "a batch": lambda row: call_usergroups(
                "POST", "users-batch-delete", {"user_group_ids": [row.provided_id]}
            ),
        },
    }

    def call(row, way):
        if way in WAYS:
            return WAYS[way](row, admin_client)
        return calls[type(row)][way](row)

    return call


@pytest.mark.parametrize("way", ["DELETE", "a batch", *WAYS])
def test_a_deleted_bookmark_is_listed(listed, delete, bookmarks, way):
    delete(bookmarks[0], way)

    assert Bookmark.objects.count() == 3
    assert listed() == [("bookmark", str(bookmarks[0].pk))]
    assert listed(token=AccessTokenFactory()) == []


@pytest.mark.parametrize("way", ["DELETE", *WAYS])
def test_a_deleted_collection_is_listed_with_the_duplicates_that_it_leaves(
    listed, delete, collection, way
):
    now = timezone.now()
    own = {"user_group": collection.user_group}
    inside, older = [
        BookmarkFactory(
            **own,
            url=f"{URL}{name}",
            collection=collection,
            created_at=now - timedelta(days=days),
        )
        for name, days in (("a", 0), ("b", 9))
    ]
    kept = BookmarkFactory(**own, url=f"{URL}a", created_at=now - timedelta(days=1))
    outside = BookmarkFactory(**own, url=f"{URL}b", created_at=now)

    delete(collection, way)

    assert {*Bookmark.objects.all()} == {older, kept}
    assert set(listed()) == {
        ("collection", str(collection.pk)),
        ("bookmark", str(inside.pk)),
        ("bookmark", str(outside.pk)),
    }


def test_what_an_import_or_a_move_keeps_is_not_listed(
    listed, call_bookmarks, bookmarks, user_group
):
    records = [Record(line=1, url=bookmarks[0].url, title="New", collection="Other")]

    imported(user_group, records, update=True)
    call_bookmarks(
        "POST",
        "bookmarks-batch-move",
        body={"ids": [str(bookmarks[0].pk)], "collection": None},
    )

    assert listed() == []


def test_a_deletion_that_is_rolled_back_is_not_listed(listed, user_group):
    bookmark = BookmarkFactory(user_group=user_group)

    with transaction.atomic():
        bookmark.delete()
        transaction.set_rollback(True)

    assert listed() == []


def test_a_row_that_is_restored_from_a_backup_can_be_deleted_again(listed, user_group):
    bookmark = BookmarkFactory(user_group=user_group)
    key = bookmark.pk
    bookmark.delete()
    BookmarkFactory(pk=key, user_group=user_group).delete()

    assert listed() == [("bookmark", str(key))] * 2


# User groups


@pytest.mark.parametrize("way", ["DELETE", "a batch", *WAYS])
def test_a_deleted_user_group_is_listed_once_and_leaves_no_records(
    listed_groups, delete, bookmarks, way
):
    user_group = bookmarks[0].user_group
    bookmarks[0].delete()

    delete(user_group, way)

    assert listed_groups() == [user_group.provided_id]
    testing = ApiTokenFactory(team=user_group.team, environment="Testing")
    for other in (testing, ApiTokenFactory()):  # and of another team
        assert listed_groups(token=other) == []
    assert UserGroupDeletion.objects.count() == 1
    assert not Deletion.objects.exists()


def test_records_do_not_count_as_objects_of_a_user_group(
    call_usergroups, user_group, monkeypatch
):
    monkeypatch.setattr("usergroups.db.cascades.MAX_DEPENDANTS", 1)
    DeletionFactory.create_batch(2, user_group=user_group, deleted_at=timezone.now())

    response = call_usergroups(
        "DELETE", "user", query={"user_group_id": user_group.provided_id}
    )

    assert response.status_code == 200


def test_a_deleted_team_leaves_no_records(user_group, bookmarks):
    UserGroupFactory(team=user_group.team).delete()
    bookmarks[0].delete()

    user_group.team.delete()

    assert not UserGroupDeletion.objects.exists()
    assert not Deletion.objects.exists()


# How long

LISTS = ["deletions", "users-deletions"]


@pytest.fixture
def call_list(call_bookmarks, call_usergroups):
    callers = {"deletions": call_bookmarks, "users-deletions": call_usergroups}

    def call(name, query):
        return callers[name]("GET", name, query=query)

    return call


@pytest.mark.parametrize("name", LISTS)
def test_a_time_that_is_too_long_ago_is_gone(call_list, settings, name):
    now = timezone.now()
    settings.USERGROUPS_DELETION_RETENTION_DAYS = 3
    times = [now - timedelta(days=3), now - timedelta(days=3, hours=-1)]

    too_old, accepted = [call_list(name, {"since": time.isoformat()}) for time in times]

    assert errors(too_old, 410) == [(None, "too_old")]
    assert accepted.status_code == 200


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({}, "required"),
        ({"since": "2026-01-31"}, "invalid"),
        ({"since": "0001-01-01T00:00:00"}, "no_offset"),
    ],
    ids=["missing", "date", "no offset"],
)
def test_the_time_is_required(call_list, name, query, code):
    assert errors(call_list(name, query)) == [("since", code)]
