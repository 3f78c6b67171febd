"""The signals that each write sends, and who is named as the actor."""

import pickle
import re
from copy import copy
from types import SimpleNamespace

import pytest
from django.db.models.signals import post_save, pre_save
from django.test import RequestFactory

from bookmarks.files.records import Record
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.actions import act, act_on_page, issue, save, url
from tests.admin.test_files import upload
from tests.api.conftest import valid_body  # noqa: F401
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
)
from tests.bookmarks.imports import chunks_of_two  # noqa: F401
from tests.bookmarks.imports import imported as store
from tests.operations import WRITES, caller
from tests.queries import concurrently
from tests.signals import expected, received, recorded
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = pytest.mark.django_db

URL = "https://example.com/"
"""The URL of the bookmark without a collection."""

OPERATIONS = {
    "rotate_api_token": [("created", ApiToken, 1), ("rotated", ApiToken, 1)],
    "create_user_group": [("created", UserGroup, 1)],
    "update_user_group": [
        ("updated", UserGroup, 1, "mapping", "name", "properties"),
    ],
    "delete_user_group": [("deleted", UserGroup, 1)],
    "rotate_user_group_token": [("rotated", UserGroup, 1)],
    "put_user_groups": [("created", UserGroup, 1)],
    "delete_user_groups": [("deleted", UserGroup, 1)],
    "issue_access_token": [("created", AccessToken, 1)],
    "revoke_access_token": [("revoked", AccessToken, 1)],
    "issue_access_tokens": [("created", AccessToken, 1)],
    "revoke_access_tokens": [("revoked", AccessToken, 1)],
    "rotate_access_token": [("created", AccessToken, 1), ("rotated", AccessToken, 1)],
    "create_bookmark": [("created", Bookmark, 1)],
    "create_bookmarks": [("created", Bookmark, 1)],
    "delete_bookmarks": [("deleted", Bookmark, 1)],
    "move_bookmarks": [("updated", Bookmark, 1, "collection")],
    "update_bookmark": [("updated", Bookmark, 1, "collection", "note", "tags", "url")],
    "delete_bookmark": [("deleted", Bookmark, 1)],
    "create_collection": [("created", Collection, 1)],
    "update_collection": [("updated", Collection, 1, "name")],
    "delete_collection": [("deleted", Collection, 1)],
    "rename_tag": [],
    "import_bookmarks": [("created", Bookmark, 1)],
}
"""The signals of each operation with its valid body: the name, the model, the
number of instances and the fields.
"""

ADMIN = {
    "add a team": (
        lambda has: has.admin.post(url("usergroups_team_add"), {"name": "Acme"}),
        [("created", Team, 1)],
    ),
    "add a bookmark": (
        lambda has: has.admin.post(
            url("bookmarks_bookmark_add"),
            {"user_group": has.group.pk, "url": f"{URL}new"},
        ),
        [("created", Bookmark, 1)],
    ),
    "edit a user group": (
        lambda has: save(has.admin, has.group, name="New"),
        [("updated", UserGroup, 1, "name")],
    ),
    "delete bookmarks": (
        lambda has: act(
            has.admin, "bookmarks_bookmark", "delete_selected", has.own, has.loose
        ),
        [("deleted", Bookmark, 2)],
    ),
    "revoke access tokens, of which one is revoked": (
        lambda has: act(
            has.admin, "bookmarks_accesstoken", "revoke", has.token, has.revoked
        ),
        [("revoked", AccessToken, 1)],
    ),
    "rotate a user group token": (
        lambda has: act_on_page(
            has.admin, "usergroups_usergroup", "rotate_token", has.group
        ),
        [("rotated", UserGroup, 1)],
    ),
    "issue an API token": (
        lambda has: issue(has.admin, "usergroups_apitoken", team=has.group.team_id),
        [("created", ApiToken, 1)],
    ),
    "rotate an access token": (
        lambda has: act(
            has.admin, "bookmarks_accesstoken", "rotate", has.token, grace="0"
        ),
        [("created", AccessToken, 1), ("rotated", AccessToken, 1)],
    ),
    "import a file": (
        lambda has: upload(
            has.admin, has.group, "a.csv", f"url,collection\n{URL}new,Folder\n".encode()
        ),
        [("created", Collection, 1), ("created", Bookmark, 1)],
    ),
}
"""What an operator does in the admin, as a function of the fixture ``has``, and
its signals.
"""


def check_signals(sent, actor, signals):
    """Check which signals were sent, by whom, and that they have the stored
    values.
    """
    actual = [
        (
            each.name,
            each.sender,
            len(each.arguments["instances"]),
            *sorted(each.arguments.get("fields", ())),
        )
        for each in sent
    ]
    assert actual == signals
    for name, model, arguments in sent:
        assert arguments["actor"] == actor
        if name == "rotated" and model is not UserGroup:
            assert len(arguments["successors"]) == 1
        for instance in arguments["instances"]:
            stored = model.objects.filter(pk=instance.pk)
            if name == "deleted":
                assert not instance.get_deferred_fields()
                assert not stored.exists()
            else:
                assert loaded(instance) <= loaded(stored.get())


def loaded(instance):
    """Return the loaded fields of a row with their values."""
    deferred = instance.get_deferred_fields()
    return {
        (field.attname, str(getattr(instance, field.attname)))
        for field in instance._meta.concrete_fields
        if field.attname not in deferred
    }


@pytest.mark.parametrize("name", WRITES)
def test_an_operation_sends_these_signals(
    api_client,
    user_group,
    valid_body,  # noqa: F811
    name,
):
    call = caller(api_client, user_group, name)
    saved = []

    def save(sender, **kwargs):
        if sender._meta.app_label in ("usergroups", "bookmarks"):
            saved.append(sender)

    pre_save.connect(save)
    post_save.connect(save)
    with recorded() as sent:
        answer = call(valid_body)
    pre_save.disconnect(save)
    post_save.disconnect(save)

    check_signals(sent, call.token, OPERATIONS[name])
    check_secrets(sent, answer, call.token.secret)
    # those that ``save()`` sends
    assert saved == []


def check_secrets(sent, answer, *others):
    """Check that no signal has a secret, neither of those in the answer nor of
    the others.
    """
    # the format of a secret
    secrets = re.findall(r"(?:uga|bma)_[0-9A-Za-z]{38}", answer.content.decode())
    new = [each.sender for each in sent if each.name == "created"]
    assert bool(secrets) == bool({ApiToken, AccessToken} & {*new})
    pickled = pickle.dumps([arguments for _, _, arguments in sent])
    for secret in (*secrets, *others):
        assert secret not in repr(sent)
        assert secret.encode() not in pickled


@pytest.fixture
def has(admin_client, user_group, collection):
    """Return rows, and a client of the admin.

    ``own`` is in the collection, and ``duplicate`` too, but with the URL of
    ``loose``, which is in none.
    """
    own = {"user_group": user_group}
    return SimpleNamespace(
        admin=admin_client,
        group=user_group,
        own=BookmarkFactory(**own, collection=collection),
        loose=BookmarkFactory(**own, url=URL),
        duplicate=BookmarkFactory(**own, url=URL, collection=collection),
        token=AccessTokenFactory(**own),
        revoked=AccessTokenFactory(**own, revoked=True),
    )


@pytest.mark.parametrize(("write", "signals"), ADMIN.values(), ids=ADMIN)
def test_the_admin_sends_these_signals(has, admin_user, write, signals):
    with recorded() as sent:
        answer = write(has)

    check_signals(sent, admin_user, signals)
    check_secrets(sent, answer)


def test_a_deleted_collection_comes_before_its_bookmarks(
    call_bookmarks, access_token, collection, has
):
    with recorded() as sent:
        call_bookmarks("DELETE", "collection", collection.pk)

    actor = access_token
    assert sent == [
        expected("deleted", collection, actor=actor),
        expected("deleted", has.duplicate, actor=actor),
        expected("updated", has.own, actor=actor, fields={"collection"}),
    ]


def test_what_changes_nothing_is_not_announced(
    call_bookmarks, call_usergroups, call_access_tokens, has
):
    duplicate = [str(has.duplicate.pk), "x"]
    revoked = has.revoked.public_id

    with recorded() as sent:
        call_bookmarks("POST", "bookmarks", body={"url": URL, "title": "New"})
        call_bookmarks("POST", "bookmarks-batch", body={"bookmarks": [{"url": URL}]})
        call_bookmarks("POST", "bookmarks-batch-delete", body={"ids": ["x"]})
        call_bookmarks(
            "POST", "bookmarks-batch-move", body={"ids": duplicate, "collection": None}
        )
        store(has.group, [Record(1, URL)])
        call_usergroups("POST", "user", {"user_group_id": has.group.provided_id})
        call_access_tokens("DELETE", "access-token", revoked)
        call_access_tokens(
            "POST", "access-tokens-batch-revoke", body={"ids": [revoked, "unknown"]}
        )
        has.token.mark_used(RequestFactory().get("/"))

    assert sent == []


@pytest.mark.django_db(transaction=True)
def test_a_bookmark_that_another_transaction_created_is_not_announced(
    create_bookmark, user_group
):
    bookmark = BookmarkFactory.build(user_group=user_group, url=URL)

    # right before the INSERT of the call. bulk_create() sends no signal.
    with (
        received() as sent,
        concurrently("INSERT", lambda: Bookmark.objects.bulk_create([bookmark])),
    ):
        response = create_bookmark({"url": URL})

    assert response.status_code == 200
    assert response.json()["bookmark"]["id"] == str(bookmark.pk)
    assert sent == []


@pytest.mark.usefixtures("chunks_of_two")
def test_an_import_announces_each_chunk(user_group):
    records = [Record(number, f"{URL}{number}", "", "Folder") for number in range(3)]

    with recorded() as sent:
        store(user_group, records)

    chunks = [arguments["instances"] for _, _, arguments in sent[1:]]
    assert sent[0] == expected("created", Collection.objects.get())
    assert sorted(len(chunk) for chunk in chunks) == [1, 2]
    assert {bookmark.collection.name for chunk in chunks for bookmark in chunk} == {
        "Folder"
    }


def test_a_batch_of_user_groups_sends_a_signal_for_each_set_of_fields(
    call_usergroups, user_group, api_token
):
    first, second, third = UserGroupFactory.create_batch(3, team=user_group.team)
    items = [
        {"user_group_id": "new", "name": "New"},
        {"user_group_id": first.provided_id, "name": "First"},
        {"user_group_id": second.provided_id, "name": "Second"},
        {"user_group_id": third.provided_id, "mapping": {"1": "x"}},
        {"user_group_id": user_group.provided_id},  # changes nothing
        {"user_group_id": ""},  # is invalid
    ]

    with recorded() as sent:
        call_usergroups("POST", "users-batch", {"user_groups": items})

    # The order of the signals and of the renamed groups may differ.
    found = {
        (each.name, *sorted(each.arguments.get("fields", ()))): {
            group.name for group in each.arguments["instances"]
        }
        for each in sent
    }
    assert len(sent) == 3
    assert found == {
        ("created",): {"New"},
        ("updated", "mapping"): {third.name},
        ("updated", "name"): {"First", "Second"},
    }


@pytest.mark.parametrize(
    "factory",
    [
        TeamFactory,
        UserGroupFactory,
        ApiTokenFactory,
        AccessTokenFactory,
    ],
)
def test_deletions_of_instances_and_querysets_are_announced(factory):
    first, second, third = factory.create_batch(3)
    # delete() sets the primary key of ``first`` to None.
    expected_signals = [
        expected("deleted", copy(first)),
        expected("deleted", second, third),
    ]

    with recorded() as sent:
        first.delete()
        type(second).objects.filter(pk__in=[second.pk, third.pk]).delete()

    assert sent == expected_signals


def test_bookmarks_of_several_user_groups_are_announced_by_user_group(
    admin_client, admin_user
):
    bookmarks = BookmarkFactory.create_batch(2)

    with recorded() as sent:
        act(admin_client, "bookmarks_bookmark", "delete_selected", *bookmarks)

    assert sent == [expected("deleted", each, actor=admin_user) for each in bookmarks]


@pytest.mark.parametrize("page", ["add", "changelist", "import"])
def test_the_operator_acts_only_during_the_request(admin_client, page):
    admin_client.post(url(f"bookmarks_bookmark_{page}"))

    with recorded() as sent:
        team = TeamFactory()
    assert sent == [expected("created", team, actor=None)]
