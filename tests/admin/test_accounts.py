"""The admin of the operators' accounts."""

import re

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from tests.admin.german import GERMAN

pytestmark = pytest.mark.django_db

ADD, LIST, INDEX = reverse("admin:auth_user_add"), reverse("admin:auth_user_changelist"), reverse("admin:index")
PASSWORD = "correct horse battery"


def change(user):
    return reverse("admin:auth_user_change", args=[user.pk])


@pytest.fixture
def role():
    return Group.objects.create(name="Operators")


def shown_form(client, address):
    """Return the values of a form as a browser would send them."""
    form = client.get(address).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in values.items() if value not in (None, False) and name != "password"}


def test_a_new_account_can_log_in_and_has_its_role(admin_client, role):
    form = shown_form(admin_client, ADD)
    form |= {"username": "ines", "first_name": "Ines", "email": "ines@example.com", "groups": role.pk}

    admin_client.post(ADD, {**form, "password1": PASSWORD, "password2": PASSWORD})

    user = User.objects.get(username="ines")
    assert (user.get_full_name(), user.email, [*user.groups.all()]) == ("Ines", "ines@example.com", [role])
    client = Client()
    client.post(reverse("admin:login"), {"username": "ines", "password": PASSWORD})
    assert client.get(INDEX).status_code == 200


def test_the_role_is_one_choice_and_can_be_changed(admin_client, role):
    other = Group.objects.create(name="Managers")
    user = User.objects.create_user("ines", is_staff=True)
    user.groups.add(role)

    page = admin_client.get(change(user)).content.decode()
    form = shown_form(admin_client, change(user))
    for chosen, stored in ((other.pk, [other]), ("", [])):
        admin_client.post(change(user), {**form, "groups": chosen})
        assert [*user.groups.all()] == stored

    assert re.search(rf'<select name="groups" [^>]*>.*<option value="{role.pk}" selected>', page, re.DOTALL)


def test_several_roles_from_single_sign_on_are_kept(admin_client, role):
    user = User.objects.create_user("ines", is_staff=True)
    user.groups.set([role, Group.objects.create(name="Managers")])

    admin_client.post(change(user), {**shown_form(admin_client, change(user)), "first_name": "Ines"})

    user.refresh_from_db()
    assert (user.first_name, user.groups.count()) == ("Ines", 2)


def test_permissions_and_dates_are_under_advanced(admin_client, admin_user):
    page = admin_client.get(change(admin_user)).content.decode()

    first, advanced = page.split("Advanced", 1)
    names = ("is_staff", "is_superuser", "user_permissions", "last_login", "date_joined")
    assert not any(f"field-{name}" in first for name in names)
    assert all(f"field-{name}" in advanced for name in names)
    assert all(f"field-{name}" in first for name in ("first_name", "email", "groups", "is_active", "password_link"))


def test_the_list_shows_the_role(admin_client, admin_user, role):
    admin_user.groups.add(role)

    assert '<td class="field-role">Operators</td>' in admin_client.get(LIST).content.decode()


@pytest.mark.parametrize("page", [ADD, "change"])
def test_the_pages_are_german(admin_client, admin_user, role, page):
    """Django has no translations of the names of permissions."""
    admin_client.defaults |= GERMAN

    text = admin_client.get(change(admin_user) if page == "change" else page).content.decode()

    assert not any(english in text for english in ("Reset password", "Raw password"))
    for english in ("Role", "Advanced"):
        assert not re.search(rf">\s*{english}", text), english


def test_an_operator_without_permission_sees_no_accounts(client, role):
    client.force_login(User.objects.create_user("ines", is_staff=True))

    assert client.get(LIST).status_code == 403
