"""The roles that the command creates, and their permissions."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command

from tests.admin.actions import act, ask, url
from tests.admin.test_lists import MODELS
from tests.bookmarks.factories import BookmarkFactory
from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db

TOKENS = ["usergroups_apitoken", "bookmarks_accesstoken"]


@pytest.fixture
def roles(db):
    call_command("create_roles")


@pytest.fixture
def log_in(client, roles):
    def log_in_as(role):
        user = User.objects.create_user("somebody", is_staff=True)
        if role:
            user.groups.add(Group.objects.get(name=role))
        client.force_login(user)
        return client

    return log_in_as


def codenames(role):
    return set(Group.objects.get(name=role).permissions.values_list("codename", flat=True))


def test_the_roles_have_exactly_these_permissions(roles):
    names = {model.split("_")[1] for model in MODELS}
    revoke = {"revoke_apitoken", "revoke_accesstoken"}

    assert codenames("Operators") == {f"view_{name}" for name in names} | revoke
    managed = {f"{verb}_{name}" for verb in ("view", "add", "change") for name in names}
    assert codenames("Managers") == managed | revoke | {"reveal_usergroup_token"}


@pytest.mark.parametrize("role", ["Operators", "Managers"])
@pytest.mark.parametrize("model", MODELS)
def test_both_roles_can_view_everything(log_in, everything, role, model):
    client = log_in(role)

    for page in (url(f"{model}_changelist"), url(f"{model}_change", everything[model].pk),
                 url(f"{model}_history", everything[model].pk)):  # fmt: skip
        assert client.get(page, follow=True).status_code == 200


@pytest.mark.parametrize(("role", "status"), [("Operators", 403), ("Managers", 200)])
@pytest.mark.parametrize("model", MODELS)
def test_only_managers_can_add_and_change(log_in, everything, role, status, model):
    client = log_in(role)

    assert client.get(url(f"{model}_add")).status_code == status
    editable = b'name="_save"' in client.get(url(f"{model}_change", everything[model].pk)).content
    assert editable == (status == 200)
    saved = client.post(url(f"{model}_change", everything[model].pk), {"name": "New"}).status_code
    assert (saved != 403) == (status == 200)


@pytest.mark.parametrize("role", ["Operators", "Managers"])
@pytest.mark.parametrize("model", MODELS)
def test_neither_role_can_delete(log_in, everything, role, model):
    client = log_in(role)

    assert client.post(url(f"{model}_delete", everything[model].pk), {"post": "yes"}).status_code == 403
    ask(client, model, "delete_selected", everything[model])
    assert type(everything[model]).objects.filter(pk=everything[model].pk).exists()


@pytest.mark.parametrize("role", ["Operators", "Managers"])
@pytest.mark.parametrize("model", TOKENS)
def test_both_roles_can_revoke_tokens(log_in, everything, role, model):
    client = log_in(role)

    assert b"Revoke" in client.get(url(f"{model}_change", everything[model].pk)).content
    act(client, model, "revoke", everything[model])

    assert not type(everything[model]).objects.active().exists()


@pytest.mark.parametrize(("role", "tokens"), [("Operators", 1), ("Managers", 2)])
def test_only_managers_can_issue_and_rotate_tokens(log_in, role, tokens):
    client, token = log_in(role), ApiTokenFactory()

    act(client, "usergroups_apitoken", "rotate", token, grace="0")
    assert ApiToken.objects.count() == tokens

    client.post(url("usergroups_apitoken_add"), {"team": token.team.pk, "environment": "", "name": "New"})
    assert ApiToken.objects.filter(name="New").count() == tokens - 1


@pytest.mark.parametrize(("role", "status"), [("Operators", 403), ("Managers", 200)])
def test_managers_reveal_tokens_and_operators_see_that_there_is_one(log_in, user_group, role, status):
    client = log_in(role)

    assert "ugt_••••" in client.get(url("usergroups_usergroup_change", user_group.pk)).content.decode()
    assert client.post(url("usergroups_usergroup_reveal", user_group.pk)).status_code == status


@pytest.mark.parametrize(("role", "status"), [("Operators", 403), ("Managers", 200)])
def test_only_managers_can_import_and_both_roles_can_export(log_in, role, status):
    client = log_in(role)

    assert client.get(url("bookmarks_bookmark_import")).status_code == status
    assert client.get(url("bookmarks_bookmark_export")).status_code == 200


def test_nothing_is_visible_without_a_role(log_in, everything):
    client = log_in(None)

    page = client.get(url("index")).content.decode()
    assert "Findable" not in page
    assert "heading" not in page
    for model in MODELS:
        row = everything[model]
        for address in (url(f"{model}_changelist"), url(f"{model}_add"), url(f"{model}_change", row.pk),
                        url(f"{model}_delete", row.pk), url(f"{model}_history", row.pk)):  # fmt: skip
            assert client.get(address).status_code == 403
    query = "?app_label=bookmarks&model_name=bookmark&field_name=user_group&term="
    assert client.get(url("autocomplete") + query).status_code == 403
    for page in ("import", "export"):
        assert client.get(url(f"bookmarks_bookmark_{page}")).status_code == 403


def test_a_group_is_not_deleted_without_permission_to_delete_its_bookmarks(client, user_group):
    BookmarkFactory(user_group=user_group)
    user = User.objects.create_user("somebody", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_usergroup", "delete_usergroup"]))
    client.force_login(user)

    answer = client.post(url("usergroups_usergroup_delete", user_group.pk), {"post": "yes"})
    page = ask(client, "usergroups_usergroup", "delete_selected", user_group)
    ask(client, "usergroups_usergroup", "delete_selected", user_group, confirmed=str(user_group.pk))

    assert "You do not have permission to delete: bookmark." in answer.content.decode()
    assert "You do not have permission to delete: bookmark." in page.content.decode()
    assert "Bookmarks: 1" not in page.content.decode()
    assert UserGroup.objects.exists()
