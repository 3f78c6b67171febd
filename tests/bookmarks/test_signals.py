"""The signals that each write sends, and who is named as the actor."""

import pickle
import re
from copy import copy
from types import SimpleNamespace

import pytest
from django.db.models.signals import post_save, pre_save

from bookmarks.files.records import Record
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.actions import act, act_on_page, issue, save, url
from tests.admin.test_files import upload
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.bookmarks.imports import chunks_of_two  # noqa: F401
from tests.bookmarks.imports import imported as store
from tests.operations import WRITES, caller, valid_body_of
from tests.queries import concurrently
from tests.signals import expected, received, recorded
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = pytest.mark.django_db

URL = "https://example.com/"
"""The URL of the bookmark without a collection."""


@pytest.fixture
def has(  # noqa: PLR0917
    call_bookmarks,
    call_usergroups,
    call_access_tokens,
    admin_client,
    admin_user,
    user_group,
    collection,
    api_token,
    access_token,
):
    """Return rows, and functions that call the API and the admin.

    ``own`` is in the collection, and ``duplicate`` too, but with the URL of
    ``loose``, which is in none.
    """
    own = {"user_group": user_group}
    return SimpleNamespace(
        call=call_bookmarks,
        call_groups=call_usergroups,
        call_tokens=call_access_tokens,
        admin=admin_client,
        operator=admin_user,
        group=user_group,
        collection=collection,
        own=BookmarkFactory(**own, collection=collection),
        loose=BookmarkFactory(**own, url=URL),
        duplicate=BookmarkFactory(**own, url=URL, collection=collection),
        api_token=api_token,
        access_token=access_token,
        token=AccessTokenFactory(**own),
        revoked=AccessTokenFactory(**own, revoked=True),
        team=TeamFactory(),
    )


def newest(model, count=1):
    return list(model.objects.order_by("-pk")[:count])[::-1]


CALLS = {
    "POST user": (
        lambda has: has.call_groups("POST", "user", {"user_group_id": "new"}),
        lambda has: [expected("created", *newest(UserGroup), actor=has.api_token)],
    ),
    "PUT user": (
        lambda has: has.call_groups(
            "PUT",
            "user",
            {
                "user_group_id": has.group.provided_id,
                "name": "New",
                "mapping": {"40": 1},
            },
        ),
        lambda has: [
            expected(
                "updated", has.group, actor=has.api_token, fields={"name", "mapping"}
            )
        ],
    ),
    "DELETE user": (
        lambda has: has.call_groups(
            "DELETE", "user", query={"user_group_id": has.group.provided_id}
        ),
        lambda has: [expected("deleted", has.group, actor=has.api_token)],
    ),
    "POST user/token": (
        lambda has: has.call_groups(
            "POST", "user-token", {"user_group_id": has.group.provided_id}
        ),
        lambda has: [expected("rotated", has.group, actor=has.api_token)],
    ),
    "POST access token": (
        lambda has: has.call_tokens(
            "POST", "access-tokens", body={"user_group_id": has.group.provided_id}
        ),
        lambda has: [expected("created", *newest(AccessToken), actor=has.api_token)],
    ),
    "DELETE access token, twice": (
        lambda has: [
            has.call_tokens("DELETE", "access-token", has.token.public_id)
            for _ in range(2)
        ],
        lambda has: [expected("revoked", has.token, actor=has.api_token)],
    ),
    "POST batch of access tokens": (
        lambda has: has.call_tokens(
            "POST",
            "access-tokens-batch",
            body={
                "user_group_ids": [
                    has.group.provided_id,
                    "unknown",
                    has.group.provided_id,
                ]
            },
        ),
        lambda has: [expected("created", *newest(AccessToken, 2), actor=has.api_token)],
    ),
    "POST batch of revocations": (
        lambda has: has.call_tokens(
            "POST",
            "access-tokens-batch-revoke",
            body={"ids": [has.token.public_id, has.revoked.public_id, "unknown"]},
        ),
        lambda has: [expected("revoked", has.token, actor=has.api_token)],
    ),
    "a token that rotates itself": (
        lambda has: has.call("POST", "token-rotate", body={}),
        lambda has: [
            expected("created", *newest(AccessToken), actor=has.access_token),
            expected(
                "rotated",
                has.access_token,
                actor=has.access_token,
                successors=newest(AccessToken),
            ),
        ],
    ),
    "POST bookmark": (
        lambda has: has.call("POST", "bookmarks", body={"url": f"{URL}new"}),
        lambda has: [expected("created", *newest(Bookmark), actor=has.access_token)],
    ),
    "PATCH bookmark": (
        lambda has: has.call(
            "PATCH",
            "bookmark",
            has.own.pk,
            body={"url": f"{URL}new", "collection": None},
        ),
        lambda has: [
            expected(
                "updated",
                has.own,
                actor=has.access_token,
                fields={"url", "collection"},
            )
        ],
    ),
    "DELETE bookmark": (
        lambda has: has.call("DELETE", "bookmark", has.own.pk),
        lambda has: [expected("deleted", has.own, actor=has.access_token)],
    ),
    "POST batch of bookmarks": (
        lambda has: has.call(
            "POST",
            "bookmarks-batch",
            body={
                "bookmarks": [
                    {"url": url} for url in (f"{URL}new", f"{URL}new", URL, "not a URL")
                ]
            },
        ),
        lambda has: [expected("created", *newest(Bookmark), actor=has.access_token)],
    ),
    "POST batch to delete": (
        lambda has: has.call(
            "POST",
            "bookmarks-batch-delete",
            body={"ids": [str(has.own.pk), str(has.loose.pk), "x"]},
        ),
        lambda has: [expected("deleted", has.own, has.loose, actor=has.access_token)],
    ),
    "POST batch to move, of which one would be a duplicate": (
        lambda has: has.call(
            "POST",
            "bookmarks-batch-move",
            body={
                "ids": [str(has.own.pk), str(has.duplicate.pk), "x"],
                "collection": None,
            },
        ),
        lambda has: [
            expected("updated", has.own, actor=has.access_token, fields={"collection"})
        ],
    ),
    "POST collection": (
        lambda has: has.call("POST", "collections", body={"name": "New"}),
        lambda has: [expected("created", *newest(Collection), actor=has.access_token)],
    ),
    # The deletion comes before what it does to the bookmarks.
    "DELETE collection": (
        lambda has: has.call("DELETE", "collection", has.collection.pk),
        lambda has: [
            expected("deleted", has.collection, actor=has.access_token),
            expected("deleted", has.duplicate, actor=has.access_token),
            expected("updated", has.own, actor=has.access_token, fields={"collection"}),
        ],
    ),
    "delete() of an instance": (
        lambda has: copy(has.own).delete(),
        lambda has: [expected("deleted", has.own)],
    ),
    "delete() of a queryset": (
        lambda has: Bookmark.objects.filter(pk__in=[has.own.pk, has.loose.pk]).delete(),
        lambda has: [expected("deleted", has.own, has.loose)],
    ),
    "an import": (
        lambda has: store(has.group, [Record(1, f"{URL}new", "", "Folder")]),
        lambda has: [
            expected("created", *newest(Collection)),
            expected("created", *newest(Bookmark)),
        ],
    ),
}
"""Each call with the signals that it sends.

Each is a function of the fixture ``has``.
"""

ADMIN = {
    "add a team": (
        lambda has: has.admin.post(url("usergroups_team_add"), {"name": "Acme"}),
        lambda has: [expected("created", *newest(Team), actor=has.operator)],
    ),
    "add a user group": (
        lambda has: has.admin.post(
            url("usergroups_usergroup_add"),
            {
                "team": has.team.pk,
                "provided_id": "a",
                "name": "A",
                "mapping": "",
                "properties": "",
            },
        ),
        lambda has: [expected("created", *newest(UserGroup), actor=has.operator)],
    ),
    "add a collection": (
        lambda has: has.admin.post(
            url("bookmarks_collection_add"),
            {"user_group": has.group.pk, "name": "A"},
        ),
        lambda has: [expected("created", *newest(Collection), actor=has.operator)],
    ),
    "add a bookmark": (
        lambda has: has.admin.post(
            url("bookmarks_bookmark_add"),
            {"user_group": has.group.pk, "url": f"{URL}new"},
        ),
        lambda has: [expected("created", *newest(Bookmark), actor=has.operator)],
    ),
    "edit a user group": (
        lambda has: save(has.admin, has.group, name="New"),
        lambda has: [
            expected("updated", has.group, actor=has.operator, fields={"name"})
        ],
    ),
    "delete a team": (
        lambda has: act(
            has.admin,
            "usergroups_team",
            "delete_selected",
            has.team,
            name=has.team.name,
        ),
        lambda has: [expected("deleted", has.team, actor=has.operator)],
    ),
    "delete bookmarks": (
        lambda has: act(
            has.admin, "bookmarks_bookmark", "delete_selected", has.own, has.loose
        ),
        lambda has: [expected("deleted", has.own, has.loose, actor=has.operator)],
    ),
    "revoke access tokens, of which one is revoked": (
        lambda has: act(
            has.admin, "bookmarks_accesstoken", "revoke", has.token, has.revoked
        ),
        lambda has: [expected("revoked", has.token, actor=has.operator)],
    ),
    "rotate a user group token": (
        lambda has: act_on_page(
            has.admin, "usergroups_usergroup", "rotate_token", has.group
        ),
        lambda has: [expected("rotated", has.group, actor=has.operator)],
    ),
    "issue an API token": (
        lambda has: issue(has.admin, "usergroups_apitoken", team=has.team.pk),
        lambda has: [expected("created", *newest(ApiToken), actor=has.operator)],
    ),
    "rotate an access token": (
        lambda has: act(
            has.admin, "bookmarks_accesstoken", "rotate", has.token, grace="0"
        ),
        lambda has: [
            expected("created", *newest(AccessToken), actor=has.operator),
            expected(
                "rotated",
                has.token,
                actor=has.operator,
                successors=newest(AccessToken),
            ),
        ],
    ),
    "import a file": (
        lambda has: upload(
            has.admin, has.group, "a.csv", f"url,collection\n{URL}new,Folder\n".encode()
        ),
        lambda has: [
            expected("created", *newest(Collection), actor=has.operator),
            expected("created", *newest(Bookmark), actor=has.operator),
        ],
    ),
}
"""Likewise, for what an operator does in the admin."""

WRITERS = {**CALLS, **ADMIN}


@pytest.mark.parametrize(("write", "sent"), WRITERS.values(), ids=WRITERS)
def test_a_write_sends_these_signals_with_the_stored_values(has, write, sent):
    with recorded() as actual:
        write(has)

    assert actual == sent(has)
    for name, model, arguments in actual:
        for instance in arguments["instances"]:
            if name == "deleted":
                assert not instance.get_deferred_fields()
            else:
                assert loaded(instance) <= loaded(model.objects.get(pk=instance.pk))


def loaded(instance):
    """Return the loaded fields of a row with their values."""
    deferred = instance.get_deferred_fields()
    return {
        (field.attname, str(getattr(instance, field.attname)))
        for field in instance._meta.concrete_fields
        if field.attname not in deferred
    }


@pytest.mark.parametrize(
    "name",
    [
        "POST access token",
        "POST batch of access tokens",
        "a token that rotates itself",
        "issue an API token",
        "rotate an access token",
    ],
)
def test_no_signal_contains_the_secret_of_a_new_token(has, name):
    write, _ = WRITERS[name]

    with recorded() as sent:
        answer = write(has)

    # the format of a secret
    secrets = re.findall(r"[a-z]+_[0-9A-Za-z]{38}", answer.content.decode())
    assert secrets
    pickled = pickle.dumps([arguments for _, _, arguments in sent])
    for secret in (*secrets, has.api_token.secret, has.access_token.secret):
        assert secret not in repr(sent)
        assert secret.encode() not in pickled


def test_what_changes_nothing_is_not_announced(has):
    group = {"user_group_id": has.group.provided_id}

    with recorded() as sent:
        has.call("POST", "bookmarks", body={"url": URL, "title": "New"})
        has.call("PATCH", "bookmark", has.own.pk, body={})
        has.call("PATCH", "bookmark", has.own.pk, body={"url": URL})
        has.call("POST", "bookmarks-batch", body={"bookmarks": [{"url": URL}]})
        has.call("POST", "bookmarks-batch-delete", body={"ids": ["x"]})
        has.call(
            "POST", "bookmarks-batch-move", body={"ids": ["x"], "collection": None}
        )
        store(has.group, [Record(1, URL)])
        has.call_groups("POST", "user", {**group, "name": "New"})
        has.call_groups("PUT", "user", group)

    assert sent == []


@pytest.mark.django_db(transaction=True)
def test_a_bookmark_that_another_transaction_created_is_not_announced(
    create_bookmark, user_group
):
    bookmark = BookmarkFactory.build(user_group=user_group, url=URL)
    _, digest = bookmark.unique_key
    insert = (
        "INSERT INTO bookmarks_bookmark (id, user_group_id, url, url_digest, title, "
        f"tags, note, created_at, updated_at) VALUES ('{bookmark.pk}', {user_group.pk}, '{URL}', "
        f"'\\x{digest.hex()}', '', '', '', now(), now())"
    )

    # right before the INSERT of the call
    with received() as sent, concurrently("INSERT", insert):
        response = create_bookmark({"url": URL})

    assert (response.status_code, response.json()["bookmark"]["id"]) == (
        200,
        str(bookmark.pk),
    )
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


@pytest.mark.parametrize("name", WRITES)
def test_no_call_sends_the_signals_of_django_that_save_sends(
    api_client, user_group, name
):
    call = caller(api_client, user_group, name)
    body = valid_body_of(name, user_group)
    saved = []

    def save(sender, **kwargs):
        if sender._meta.app_label in ("usergroups", "bookmarks"):
            saved.append(sender)

    pre_save.connect(save)
    post_save.connect(save)
    response = call(body)
    pre_save.disconnect(save)
    post_save.disconnect(save)

    assert response.status_code in (200, 201)
    assert saved == []
