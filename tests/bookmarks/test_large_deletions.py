"""Deletion of objects to which many others belong, in one transaction."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.answers import errors, statuses
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import committed_after_wait, concurrently, queries_of
from tests.usergroups.factories import UserGroupFactory
from usergroups.db import cascades
from usergroups.events import Event
from usergroups.models import Team, UserGroup
from usergroups.signals import acting_as


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
    monkeypatch.setattr(cascades, "MAX_DEPENDANTS", 4)

    assert errors(delete(name), 409) == [(None, "too_large_to_delete")]
    assert MODELS[name].objects.exists()
    assert Bookmark.objects.filter(collection__isnull=False).count() == 5


def test_a_batch_keeps_a_group_that_a_call_of_its_own_would_keep(
    call_usergroups, collection, monkeypatch
):
    monkeypatch.setattr(cascades, "MAX_DEPENDANTS", 4)
    # so that they are not deleted together
    monkeypatch.setattr("usergroups.querysets.DELETED_AT_ONCE", 4)
    large = collection.user_group
    small = UserGroupFactory(team=large.team)
    ids = [large.provided_id, small.provided_id]

    response = call_usergroups("POST", "users-batch-delete", {"user_group_ids": ids})

    assert statuses(response) == [409, 200]
    assert response.json()["results"][0]["errors"][0]["code"] == "too_large_to_delete"
    assert UserGroup.objects.get() == large


@pytest.mark.parametrize("name", MODELS)
def test_a_call_deletes_as_much_as_a_client_can_wait_for(delete, monkeypatch, name):
    monkeypatch.setattr(cascades, "MAX_DEPENDANTS", 5)

    response = delete(name)

    assert (response.status_code, response.json()) == (200, {"success": 1})
    assert not MODELS[name].objects.exists()
    assert not Bookmark.objects.filter(collection__isnull=False).exists()


def test_foreign_keys_that_may_form_a_cycle_are_followed_to_a_limit(monkeypatch):
    monkeypatch.setattr(cascades, "MAX_FOREIGN_KEYS", 1)

    lookups = {lookup for _, lookup in cascades.cascading_relations(Team)}

    assert "team" in lookups
    assert "user_group__team" not in lookups


@pytest.mark.parametrize("kind", ["team", "user_group"])
def test_a_deletion_in_code_has_no_bound_and_leaves_nothing_behind(
    collection, monkeypatch, kind
):
    monkeypatch.setattr(cascades, "MAX_DEPENDANTS", 4)
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
    with concurrently(
        'SELECT "usergroups_usergroup"."id"',
        lambda: BookmarkFactory(user_group=user_group),
    ):
        assert delete("user_group").status_code == 200

    assert not Bookmark.objects.exists()


# The command


@pytest.mark.django_db(transaction=True)
def test_the_deletion_of_a_team_waits_for_events_of_its_user_groups(api_token):
    """Otherwise, it would conflict with each call that adds an event."""
    group = UserGroupFactory(team=api_token.team)

    def rotate():
        with acting_as(api_token):
            UserGroup.objects.rotate_token(group.provided_id, group.scope)

    with committed_after_wait(rotate):
        statements = queries_of(group.team.delete)

    # a second attempt would lock them again
    locks = [sql for sql in statements if "FOR UPDATE" in sql]
    assert ['FROM "usergroups_team"' in sql for sql in locks] == [True, False]
    assert Event.objects.get().kind == "deleted"


def delete_object(label, key, *options):
    User.objects.get_or_create(username="anna")
    call_command("delete_object", label, str(key), "--operator=anna", *options)


DESCRIPTION = """Deleting the user group “{}” affects:
1 bookmarks.AccessToken, 5 bookmarks.Bookmark, 1 bookmarks.Collection, \
1 usergroups.UserGroup
"""


@pytest.mark.parametrize(("options", "answer"), [([], "y\n"), (["--yes"], "")])
def test_the_command_shows_what_it_deletes_and_records_it(
    collection, monkeypatch, capsys, options, answer
):
    # which bounds only calls
    monkeypatch.setattr(cascades, "MAX_DEPENDANTS", 4)
    group = collection.user_group
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))

    delete_object("usergroups.UserGroup", group.pk, *options)

    assert capsys.readouterr().err.startswith(DESCRIPTION.format(group))
    assert not Bookmark.objects.exists()
    event = Event.objects.get()
    assert event.counts == {
        "bookmarks.accesstoken": 1,
        "bookmarks.bookmark": 5,
        "bookmarks.collection": 1,
        "usergroups.usergroup": 1,
    }
    assert (event.actor, event.keys) == ("anna", f"\n{group.pk}\n")


def test_the_command_records_the_deletion_of_what_a_group_owns(collection):
    group = collection.user_group
    delete_object("bookmarks.Collection", collection.pk, "--yes")

    event = Event.objects.get()

    assert (event.actor, event.kind, event.user_group) == ("anna", "deleted", group)
    assert event.counts == {"bookmarks.collection": 1}


@pytest.mark.parametrize("answer", ["n\n", ""], ids=["no", "no terminal"])
def test_the_command_deletes_nothing_without_an_answer(collection, monkeypatch, answer):
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))

    with pytest.raises(CommandError, match=r"^Nothing was deleted\.$"):
        delete_object("bookmarks.Collection", collection.pk)

    assert Collection.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bookmarks.Collection", "x"), "“x” is not a valid UUID."),
        (("usergroups.Team", "0"), "There is no team with the id '0'."),
        (("team", "1"), "Error: argument model: invalid choice: 'team'"),
        (("auth.User", "1"), "Error: argument model: invalid choice: 'auth.user'"),
        (("usergroups.Team", "1", "--operator=eve"), "There is no account 'eve'."),
    ],
)
def test_the_command_refuses_what_it_cannot_delete(db, arguments, message):
    with pytest.raises(CommandError, match=f"^{message}"):
        delete_object(*arguments)
