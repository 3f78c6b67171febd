"""The signals about changes in the admin, whose actor is the operator."""

import pickle

import pytest

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.actions import act, act_on_page, issue, save, secrets_on, url
from tests.admin.test_files import upload
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.signals import expected, recorded
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = pytest.mark.django_db

FACTORIES = {
    "usergroups_team": TeamFactory,
    "usergroups_usergroup": UserGroupFactory,
    "usergroups_apitoken": ApiTokenFactory,
    "bookmarks_accesstoken": AccessTokenFactory,
    "bookmarks_collection": CollectionFactory,
    "bookmarks_bookmark": BookmarkFactory,
}

OF_USER_GROUPS = ["bookmarks_collection", "bookmarks_bookmark"]
URL = "https://example.com/"


@pytest.fixture
def operator(admin_user):
    return admin_user


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (Team, {"name": "Acme"}),
        (
            UserGroup,
            {
                "team": 1,
                "provided_id": "a",
                "name": "A",
                "mapping": "",
                "properties": "",
            },
        ),
        (Collection, {"user_group": 1, "name": "A"}),
        (Bookmark, {"user_group": 1, "url": URL}),
    ],
)
def test_an_added_row_is_announced(admin_client, operator, model, fields):
    UserGroupFactory(pk=1, team__pk=1)
    existing = set(model.objects.values_list("pk", flat=True))

    with recorded() as sent:
        admin_client.post(
            url(f"{model._meta.app_label}_{model._meta.model_name}_add"), fields
        )

    assert sent == [
        expected(
            "created", model.objects.exclude(pk__in=existing).get(), actor=operator
        )
    ]


@pytest.mark.parametrize("model", [ApiToken, AccessToken])
def test_an_issued_token_is_announced_without_its_secret(admin_client, operator, model):
    UserGroupFactory(pk=1, team__pk=1)

    with recorded() as sent:
        # Each of the two forms has one of these fields.
        page = issue(
            admin_client,
            f"{model._meta.app_label}_{model._meta.model_name}",
            team=1,
            user_group=1,
        )

    token = model.objects.get()
    assert sent == [expected("created", token, actor=operator)]
    assert sent[0].arguments["instances"][0].public_id == token.public_id
    assert_no_secret(page, sent)


def assert_no_secret(page, sent):
    [secret] = secrets_on(page)
    assert secret.encode() not in pickle.dumps([arguments for _, _, arguments in sent])
    assert secret not in repr(sent)


def test_an_edited_group_is_announced_with_the_changed_fields(
    admin_client, operator, user_group
):
    with recorded() as sent:
        save(admin_client, user_group, name="New")

    assert sent == [expected("updated", user_group, actor=operator, fields={"name"})]


def test_a_deleted_team_is_announced(admin_client, operator):
    team = TeamFactory()

    with recorded() as sent:
        act(admin_client, "usergroups_team", "delete_selected", team, name=team.name)

    assert sent == [expected("deleted", team, actor=operator)]


@pytest.mark.parametrize(
    "model",
    [
        each
        for each in FACTORIES
        if not each.startswith("usergroups_") or each == "usergroups_apitoken"
    ],
)
def test_rows_that_an_action_deletes_are_announced_with_all_fields(
    admin_client, operator, user_group, model
):
    owner = {"user_group": user_group} if model in OF_USER_GROUPS else {}
    objects = FACTORIES[model].create_batch(2, **owner)

    with recorded() as sent:
        act(admin_client, model, "delete_selected", *objects)

    assert sent == [expected("deleted", *objects, actor=operator)]
    assert [each.get_deferred_fields() for each in sent[0].arguments["instances"]] == [
        set(),
        set(),
    ]


@pytest.mark.parametrize("model", OF_USER_GROUPS)
def test_deleted_rows_of_several_user_groups_are_announced_by_user_group(
    admin_client, operator, model
):
    objects = FACTORIES[model].create_batch(2)

    with recorded() as sent:
        act(admin_client, model, "delete_selected", *objects)

    assert sent == [expected("deleted", each, actor=operator) for each in objects]


@pytest.mark.parametrize("model", ["usergroups_apitoken", "bookmarks_accesstoken"])
def test_revoked_tokens_are_announced(admin_client, operator, model):
    token = FACTORIES[model]()
    already_revoked = FACTORIES[model](revoked=True)

    with recorded() as sent:
        act(admin_client, model, "revoke", token, already_revoked)

    assert sent == [expected("revoked", token, actor=operator)]


@pytest.mark.parametrize("model", ["usergroups_apitoken", "bookmarks_accesstoken"])
def test_a_rotated_token_is_announced_without_the_secret_of_its_successor(
    admin_client, operator, model
):
    token = FACTORIES[model]()

    with recorded() as sent:
        page = act(admin_client, model, "rotate", token, grace="0")

    successor = type(token).objects.exclude(pk=token.pk).get()
    assert sent == [
        expected("created", successor, actor=operator),
        expected("rotated", token, actor=operator, successors=[successor]),
    ]
    assert_no_secret(page, sent)


def test_a_rotated_user_group_token_is_announced(admin_client, operator, user_group):
    with recorded() as sent:
        act_on_page(admin_client, "usergroups_usergroup", "rotate_token", user_group)

    assert sent == [expected("rotated", user_group, actor=operator)]


def test_an_import_is_announced(admin_client, operator, user_group):
    with recorded() as sent:
        upload(
            admin_client,
            user_group,
            "a.csv",
            f"url,collection\n{URL},Folder\n".encode(),
        )

    assert sent == [
        expected("created", Collection.objects.get(), actor=operator),
        expected("created", Bookmark.objects.get(), actor=operator),
    ]


@pytest.mark.parametrize("page", ["add", "changelist", "import"])
def test_the_operator_acts_only_during_the_request(admin_client, page):
    admin_client.post(url(f"bookmarks_bookmark_{page}"))

    with recorded() as sent:
        team = TeamFactory()
    assert sent == [expected("created", team, actor=None)]
