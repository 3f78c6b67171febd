"""The user group token in the admin: masked until an operator with the permission reveals it."""

import pytest
from django.contrib.admin.models import LogEntry

from tests.admin.actions import ask, log_in_with, url

pytestmark = pytest.mark.django_db

MESSAGE = "Revealed the user group token."


REVEAL = f"{url('usergroups_usergroup_confirm')}?action=reveal_token"


def reveal(client, user_group):
    return client.post(REVEAL, {"confirmed": user_group.pk})


def test_no_page_contains_the_token_before_it_is_revealed(admin_client, user_group):
    change = url("usergroups_usergroup_change", user_group.pk)
    for page in (
        admin_client.get(change),
        admin_client.post(change, {"name": ""}),
        admin_client.get(url("usergroups_usergroup_changelist")),
        admin_client.get(url("usergroups_usergroup_delete", user_group.pk)),
        admin_client.get(url("usergroups_usergroup_history", user_group.pk), follow=True),
        ask(admin_client, "usergroups_usergroup", "rotate_token", user_group),
        ask(admin_client, "usergroups_usergroup", "reveal_token", user_group),
        ask(admin_client, "usergroups_usergroup", "delete_selected", user_group),
        admin_client.get(url("index")),
    ):
        assert page.status_code == 200
        assert user_group.token not in page.content.decode()


def test_a_revealed_token_is_in_the_response_only_and_in_the_history(admin_client, user_group, caplog):
    response = reveal(admin_client, user_group)

    assert f">{user_group.token}</code>" in response.content.decode()
    assert response.content.decode().count(user_group.token) == 1
    assert "no-store" in response["Cache-Control"]
    [entry] = LogEntry.objects.all()
    assert entry.get_change_message() == MESSAGE
    assert MESSAGE in admin_client.get(url("usergroups_usergroup_history", user_group.pk), follow=True).content.decode()
    stored = (LogEntry.objects.values().get(), dict(admin_client.session), response.cookies, caplog.text)
    assert user_group.token not in str(stored)


@pytest.mark.parametrize("method", ["get", "head"])
def test_opening_the_address_reveals_nothing(admin_client, user_group, method):
    response = getattr(admin_client, method)(f"{REVEAL}&keys={user_group.pk}")

    assert response.status_code == 200
    assert user_group.token not in response.content.decode()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("codenames", "status"),
    [
        (["view_usergroup", "reveal_usergroup_token"], 200),
        (["change_usergroup", "reveal_usergroup_token"], 200),
        (["view_usergroup", "change_usergroup"], 403),
        (["reveal_usergroup_token"], 403),
    ],
)
def test_revealing_requires_its_permission_and_the_permission_to_view(client, user_group, codenames, status):
    log_in_with(client, *codenames)

    response = reveal(client, user_group)
    page = client.get(url("usergroups_usergroup_change", user_group.pk)).content.decode()

    assert response.status_code == status
    assert (user_group.token in response.content.decode()) == (status == 200)
    assert ("Reveal" in page) == (status == 200)
    assert LogEntry.objects.filter(change_message=MESSAGE).exists() == (status == 200)
