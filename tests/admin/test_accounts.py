"""Accounts, roles and permissions of operators.

``everything`` is a fixture: a dict with an object of each model.
"""

import html

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from tests.admin.actions import allow_only, log_in_with, open_confirmation, url
from tests.admin.test_lists import MODELS
from tests.bookmarks.factories import BookmarkFactory
from tests.queries import queries_of
from usergroups.models import UserGroup

pytestmark = [pytest.mark.database_independent, pytest.mark.django_db]

ADD = reverse("admin:auth_user_add")
LIST = reverse("admin:auth_user_changelist")
INDEX = reverse("admin:index")
PASSWORD = "correct horse battery"


def change_url(user):
    return reverse("admin:auth_user_change", args=[user.pk])


@pytest.fixture
def role():
    return Group.objects.create(name="Operators")


def form_data(client, address):
    """Return the values of a form as a browser would send them."""
    form = client.get(address).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    return {
        name: value
        for name, value in values.items()
        if value not in (None, False) and name != "password"
    }


def test_a_new_account_can_log_in_and_has_its_role(admin_client, role):
    form = form_data(admin_client, ADD)
    form |= {
        "username": "ines",
        "first_name": "Ines",
        "email": "ines@example.com",
        "groups": role.pk,
    }

    admin_client.post(ADD, {**form, "password1": PASSWORD, "password2": PASSWORD})

    user = User.objects.get(username="ines")
    assert (user.get_full_name(), user.email) == ("Ines", "ines@example.com")
    assert [*user.groups.all()] == [role]
    client = Client()
    client.post(reverse("admin:login"), {"username": "ines", "password": PASSWORD})
    assert client.get(INDEX).status_code == 200
    page = admin_client.get(LIST).content.decode()
    assert f'<td class="field-role">{role.name}</td>' in page


def test_permissions_on_accounts_and_roles_do_not_let_an_operator_become_a_superuser(
    client, role
):
    user = User.objects.create_user("ines", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="auth"))
    superuser = User.objects.create_superuser("boss")
    client.force_login(user)
    pages = {
        change_url(user): {"username": "ines", "is_staff": "on", "is_superuser": "on"},
        reverse("admin:auth_user_password_change", args=[superuser.pk]): {
            "password1": "new",
            "password2": "new",
        },
        reverse("admin:auth_group_change", args=[role.pk]): {"name": "Everything"},
        reverse("admin:auth_group_add"): {"name": "Everything"},
        ADD: {
            "username": "mallory",
            "is_superuser": "on",
            "password1": PASSWORD,
            "password2": PASSWORD,
        },
    }

    for page, form in pages.items():
        assert client.post(page, form).status_code == 403, page
    assert client.get(LIST).status_code == 200
    assert client.get(change_url(user)).status_code == 200
    assert User.objects.filter(is_superuser=True).get() == superuser


def test_the_roles_have_exactly_these_permissions():
    names = {model.split("_")[1] for model in MODELS}
    revoke = {"revoke_apitoken", "revoke_accesstoken"}

    call_command("create_roles")

    view = {f"view_{name}" for name in names}
    add_and_change = {f"{verb}_{name}" for verb in ("add", "change") for name in names}
    assert permissions_of("Operators") == view | revoke
    reveal = {"reveal_usergroup_token"}
    assert permissions_of("Managers") == view | add_and_change | revoke | reveal


def permissions_of(role):
    permissions = Permission.objects.filter(group__name=role)
    return set(permissions.values_list("codename", flat=True))


def test_operators_view_everything_and_cannot_edit(client, everything):
    call_command("create_roles")
    user = User.objects.create_user("somebody", is_staff=True)
    user.groups.add(Group.objects.get(name="Operators"))
    client.force_login(user)

    for model, row in everything.items():
        page = client.get(url(f"{model}_change", row.pk))
        assert (page.status_code, b'name="_save"' in page.content) == (200, False)
        history = client.get(url(f"{model}_history", row.pk), follow=True)
        assert history.status_code == 200
        for name, key in (("add", []), ("change", [row.pk]), ("delete", [row.pk])):
            refused = client.post(url(f"{model}_{name}", *key), {"name": "New"})
            assert refused.status_code == 403


def test_nothing_is_visible_without_a_role(client, everything):
    client.force_login(User.objects.create_user("somebody", is_staff=True))

    page = client.get(url("index")).content.decode()
    assert client.get(LIST).status_code == 403
    assert "Findable" not in page  # as in the names of the objects
    assert "You may not view anything yet." in page
    assert "heading" not in page  # as in the id of each panel's heading
    for model in MODELS:
        key = everything[model].pk
        for name, keys in (
            ("changelist", []),
            ("add", []),
            ("change", [key]),
            ("delete", [key]),
            ("history", [key]),
        ):
            assert client.get(url(f"{model}_{name}", *keys)).status_code == 403
    query = "?app_label=bookmarks&model_name=bookmark&field_name=user_group&term="
    assert client.get(url("autocomplete") + query).status_code == 403
    for page in ("import", "export"):
        assert client.get(url(f"bookmarks_bookmark_{page}")).status_code == 403


def test_a_filter_does_not_name_rows_that_the_operator_may_not_view(client, everything):
    key = everything["usergroups_usergroup"].pk
    page = f"{url('usergroups_event_changelist')}?user_group__id__exact={key}"

    for viewed, is_named in (("usergroup", True), ("apitoken", False)):
        log_in_with(client, f"view_{viewed}")
        assert ("Findable" in client.get(page).content.decode()) == is_named


def test_a_group_is_not_deleted_without_permission_to_delete_its_bookmarks(
    client, user_group
):
    BookmarkFactory(user_group=user_group)
    allow_only(client, "usergroups_usergroup", "view", "delete")

    model = "usergroups_usergroup"
    refusal = "You do not have permission to delete: bookmark."
    for page in (
        client.post(url(f"{model}_delete", user_group.pk), {"post": "yes"}),
        open_confirmation(client, model, "delete_selected", user_group),
    ):
        assert refusal in page.content.decode()
        # The operator may not view bookmarks.
        assert "Bookmarks: 1" not in page.content.decode()
    assert UserGroup.objects.exists()


def test_an_account_that_made_changes_is_not_deleted_and_they_are_not_read(
    admin_client, admin_user
):
    """Django would render each of its changes."""
    group_type = ContentType.objects.get_for_model(Group)
    LogEntry.objects.bulk_create(
        LogEntry(user=admin_user, content_type=group_type, action_flag=CHANGE)
        for _ in range(10)
    )
    address = reverse("admin:auth_user_delete", args=[admin_user.pk])

    statements = queries_of(admin_client.get, address)
    page = admin_client.get(address).content.decode()
    refused = admin_client.post(address, {"post": "yes"})

    assert "your account doesn't have permission to delete" in html.unescape(page)
    assert refused.status_code == 403
    assert not [sql for sql in statements if "change_message" in sql]
