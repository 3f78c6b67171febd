"""Deletion of objects to which many others belong, in one transaction."""

import pytest
from django.core.management import CommandError, call_command

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.answers import errors
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import concurrently
from tests.usergroups.factories import UserGroupFactory
from usergroups.db import deletion
from usergroups.models import Team, UserGroup

URL = "https://example.com/"


@pytest.fixture
def collection(user_group):
    collection = CollectionFactory(user_group=user_group, name="Large")
    BookmarkFactory.create_batch(5, user_group=user_group, collection=collection)
    AccessTokenFactory(user_group=user_group)
    return collection


@pytest.fixture
def delete(call_usergroups, call_bookmarks, collection):
    """Return a function that calls the API to delete the user group or its
    collection.
    """

    def call(name):
        if name == "collection":
            return call_bookmarks("DELETE", "collection", collection.pk)
        return call_usergroups(
            "DELETE",
            "user",
            query={"user_group_id": collection.user_group.provided_id},
        )

    return call


MODELS = {"user_group": UserGroup, "collection": Collection}


@pytest.mark.parametrize("name", MODELS)
def test_a_call_deletes_no_more_than_a_client_can_wait_for(delete, monkeypatch, name):
    monkeypatch.setattr(deletion, "MAX_DEPENDANTS", 4)

    assert errors(delete(name), 409) == [(None, "too_large_to_delete")]
    assert MODELS[name].objects.exists()
    assert Bookmark.objects.filter(collection__isnull=False).count() == 5


def test_a_batch_keeps_a_group_that_a_call_of_its_own_would_keep(
    call_usergroups, collection, monkeypatch
):
    monkeypatch.setattr(deletion, "MAX_DEPENDANTS", 4)
    large = collection.user_group
    small = UserGroupFactory(team=large.team)
    ids = [large.provided_id, small.provided_id]

    response = call_usergroups("POST", "users-batch-delete", {"user_group_ids": ids})

    results = response.json()["results"]
    assert [result["status"] for result in results] == [409, 200]
    assert results[0]["errors"][0]["code"] == "too_large_to_delete"
    assert UserGroup.objects.get() == large


@pytest.mark.parametrize("name", MODELS)
def test_a_call_deletes_as_much_as_a_client_can_wait_for(delete, monkeypatch, name):
    monkeypatch.setattr(deletion, "MAX_DEPENDANTS", 5)

    response = delete(name)

    assert (response.status_code, response.json()) == (200, {"success": 1})
    assert not MODELS[name].objects.exists()
    assert not Bookmark.objects.filter(collection__isnull=False).exists()


@pytest.mark.parametrize("kind", ["team", "user_group"])
def test_a_deletion_in_code_has_no_bound_and_leaves_nothing_behind(
    collection, monkeypatch, kind
):
    monkeypatch.setattr(deletion, "MAX_DEPENDANTS", 4)
    group = collection.user_group

    {"team": group.team, "user_group": group}[kind].delete()

    assert [
        model.objects.count()
        for model in (UserGroup, AccessToken, Collection, Bookmark)
    ] == [0, 0, 0, 0]
    assert Team.objects.exists() == (kind == "user_group")


@pytest.mark.django_db(transaction=True)
def test_a_concurrently_created_bookmark_leaves_nothing_behind(delete, user_group):
    """The insert commits right before the deletion locks the user group.

    A later insert would wait for this lock.
    """
    insert = (
        "INSERT INTO bookmarks_bookmark (id, user_group_id, url, url_digest, title, "
        f"tags, note, created_at, updated_at) VALUES ('{BookmarkFactory.build().pk}', "
        f"{user_group.pk}, '{URL}', '', '', '', '', now(), now())"
    )

    with concurrently('SELECT "usergroups_usergroup"."id"', insert):
        assert delete("user_group").status_code == 200

    assert not Bookmark.objects.exists()


# The command


@pytest.mark.parametrize(
    "label", ["usergroups.Team", "usergroups.usergroup", "bookmarks.Collection"]
)
def test_the_command_deletes_without_a_bound(collection, monkeypatch, capsys, label):
    monkeypatch.setattr(deletion, "MAX_DEPENDANTS", 4)
    group = collection.user_group
    row = {
        "usergroups.Team": group.team,
        "usergroups.usergroup": group,
        "bookmarks.Collection": collection,
    }[label]

    call_command("delete_object", label, str(row.pk))

    assert not type(row).objects.exists()
    assert f"1 {row._meta.label}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bookmarks.Collection", "x"), "“x” is not a valid UUID."),
        (("usergroups.Team", "0"), "There is no team with the id '0'."),
        (("team", "1"), "Error: argument model: invalid choice: 'team'"),
        (("auth.User", "1"), "Error: argument model: invalid choice: 'auth.user'"),
    ],
)
def test_the_command_refuses_what_it_cannot_delete(db, arguments, message):
    with pytest.raises(CommandError, match=f"^{message}"):
        call_command("delete_object", *arguments)
