"""The roles that the command creates, and what is visible without permissions."""

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command

from tests.admin.actions import allow, ask, url
from tests.admin.test_lists import MODELS
from tests.bookmarks.factories import BookmarkFactory
from usergroups.models import UserGroup

pytestmark = pytest.mark.django_db


def test_the_roles_have_exactly_these_permissions():
    names = {model.split("_")[1] for model in MODELS}
    revoke = {"revoke_apitoken", "revoke_accesstoken"}

    call_command("create_roles")

    operators, managers = (
        set(Group.objects.get(name=role).permissions.values_list("codename", flat=True))
        for role in ("Operators", "Managers")
    )
    assert operators == {f"view_{name}" for name in names} | revoke
    managed = {f"{verb}_{name}" for verb in ("view", "add", "change") for name in names}
    assert managers == managed | revoke | {"reveal_usergroup_token"}


def test_operators_view_everything_and_cannot_edit(client, everything):
    call_command("create_roles")
    user = User.objects.create_user("somebody", is_staff=True)
    user.groups.add(Group.objects.get(name="Operators"))
    client.force_login(user)

    for model, row in everything.items():
        page = client.get(url(f"{model}_change", row.pk))
        assert (page.status_code, b'name="_save"' in page.content) == (200, False)
        assert client.get(url(f"{model}_history", row.pk), follow=True).status_code == 200
        for name, key in (("add", []), ("change", [row.pk]), ("delete", [row.pk])):
            assert client.post(url(f"{model}_{name}", *key), {"name": "New"}).status_code == 403


def test_nothing_is_visible_without_a_role(client, everything):
    client.force_login(User.objects.create_user("somebody", is_staff=True))

    page = client.get(url("index")).content.decode()
    assert "Findable" not in page
    assert "heading" not in page
    for model in MODELS:
        key = everything[model].pk
        for name, keys in (("changelist", []), ("add", []), ("change", [key]), ("delete", [key]), ("history", [key])):
            assert client.get(url(f"{model}_{name}", *keys)).status_code == 403
    query = "?app_label=bookmarks&model_name=bookmark&field_name=user_group&term="
    assert client.get(url("autocomplete") + query).status_code == 403
    for page in ("import", "export"):
        assert client.get(url(f"bookmarks_bookmark_{page}")).status_code == 403


def test_a_group_is_not_deleted_without_permission_to_delete_its_bookmarks(client, user_group):
    BookmarkFactory(user_group=user_group)
    allow(client, "usergroups_usergroup", "view", "delete")

    for page in (
        client.post(url("usergroups_usergroup_delete", user_group.pk), {"post": "yes"}),
        ask(client, "usergroups_usergroup", "delete_selected", user_group),
    ):
        assert "You do not have permission to delete: bookmark." in page.content.decode()
        assert "Bookmarks: 1" not in page.content.decode()
    assert UserGroup.objects.exists()
