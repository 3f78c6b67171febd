"""Moving user groups to another environment of their team in the admin."""

from datetime import timedelta

import pytest
from django.utils import timezone

from bookmarks.models import AccessToken
from tests.admin.actions import (
    act,
    allow_only,
    confirm,
    open_confirmation,
    open_confirmation_on_page,
    url,
)
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.signals import received
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.events import Event
from usergroups.models import UserGroup

pytestmark = pytest.mark.django_db

MODEL = "usergroups_usergroup"


@pytest.fixture
def user_group(db):
    a_day_ago = timezone.now() - timedelta(days=1)
    return UserGroupFactory(environment="Customer", created_at=a_day_ago)


def move(client, *user_groups, environment="Testing"):
    return act(
        client, MODEL, "move_to_environment", *user_groups, environment=environment
    )


def test_a_group_moves_with_its_tokens_and_bookmarks(
    admin_client, user_group, django_capture_on_commit_callbacks
):
    tokens = AccessTokenFactory.create_batch(2, user_group=user_group)
    others = AccessTokenFactory(user_group__environment="Customer")
    BookmarkFactory(user_group=user_group)
    page = open_confirmation_on_page(
        admin_client, MODEL, "move_to_environment", user_group
    )
    assert page.context["form"].fields["environment"].choices == [
        ("", "No environment"),
        ("Testing", "Testing"),
    ]

    with received() as sent, django_capture_on_commit_callbacks(execute=True):
        done = confirm(admin_client, page, environment="Testing")

    assert "Moved to “Testing”: 1." in done.content.decode()
    assert done.redirect_chain[-1][0] == url(f"{MODEL}_change", user_group.pk)
    moved = UserGroup.objects.get(pk=user_group.pk)
    assert moved.environment == "Testing"
    assert moved.token == user_group.token
    assert moved.bookmarks.count() == 1
    for token in tokens:
        assert AccessToken.objects.get(pk=token.pk).environment == "Testing"
        assert AccessToken.objects.authenticate(token.secret) == token
    assert AccessToken.objects.get(pk=others.pk).environment == "Customer"
    [updated] = sent
    assert (updated.name, updated.arguments["fields"]) == ("updated", {"environment"})
    event = Event.objects.get()
    assert event.changes == {"environment": ["Customer", "Testing"]}


def test_callers_see_a_deletion_in_the_old_environment_and_a_new_group_in_the_other(
    admin_client, user_group, call_usergroups
):
    scope = {"team": user_group.team, "recently_used": True}
    old = ApiTokenFactory(environment="Customer", **scope)
    new = ApiTokenFactory(environment="Testing", **scope)
    since = timezone.now().isoformat()
    before = {"since": since}

    def seen(token):
        deleted = call_usergroups("GET", "users-deletions", query=before, token=token)
        changed = call_usergroups(
            "GET", "users", query={"updated_since": since}, token=token
        )
        return (
            [each["user_group_id"] for each in deleted.json()["deletions"]],
            [each["provided_id"] for each in changed.json()["user_groups"]],
        )

    move(admin_client, user_group)

    assert seen(old) == ([user_group.provided_id], [])
    assert seen(new) == ([], [user_group.provided_id])
    move(admin_client, user_group, environment="Customer")
    assert seen(old) == ([user_group.provided_id], [user_group.provided_id])
    # It exists, because it was created after the deletion.
    [deletion] = call_usergroups(
        "GET", "users-deletions", query=before, token=old
    ).json()["deletions"]
    [group] = call_usergroups("GET", "users", token=old).json()["user_groups"]
    assert group["created_at"] > deletion["deleted_at"]


def test_no_group_moves_if_an_id_is_taken_in_the_environment(admin_client, user_group):
    team = {"team": user_group.team}
    other = UserGroupFactory(**team, environment="Customer")
    token = AccessTokenFactory(user_group=other)
    UserGroupFactory(**team, environment="Testing", provided_id=user_group.provided_id)

    done = move(admin_client, other, user_group)

    assert (
        "Nothing was changed: “Testing” has a user group with the provided id "
        f"“{user_group.provided_id}” already." in done.content.decode()
    )
    for group in (user_group, other):
        group.refresh_from_db()
        assert group.environment == "Customer"
    assert AccessToken.objects.get(pk=token.pk).environment == "Customer"
    assert not Event.objects.exists()


def test_a_group_that_is_there_already_is_not_changed(admin_client, user_group):
    other = UserGroupFactory(environment="Testing")

    page = open_confirmation(
        admin_client, MODEL, "move_to_environment", user_group, other
    )
    done = confirm(admin_client, page, environment="Testing")

    assert len(page.context["form"].fields["environment"].choices) == 3
    assert "Moved to “Testing”: 1." in done.content.decode()
    assert UserGroup.objects.get(pk=other.pk).updated_at == other.updated_at


def test_moving_requires_the_permission_to_change(client, user_group):
    allow_only(client, MODEL, "view")
    address = f"{url(f'{MODEL}_confirm')}?action=move_to_environment"

    client.post(address, {"confirmed": user_group.pk, "environment": "Testing"})

    user_group.refresh_from_db()
    assert user_group.environment == "Customer"
