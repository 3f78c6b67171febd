"""API and access tokens in the admin: their list, their page and their
actions.
"""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.utils import timezone
from django.utils.formats import date_format

from tests.admin.actions import (
    TOKEN_FACTORIES,
    act,
    allow_only,
    confirm,
    listed,
    open_confirmation,
    url,
)
from tests.bookmarks.factories import AccessTokenFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.models import ApiToken
from usergroups.testing import hours_ago
from usergroups.tokens.admin import TokenAdmin

pytestmark = pytest.mark.django_db


def test_tokens_are_filtered_by_state_access_team_and_environment(admin_client):
    states = ["revoked", "expired", "expiring"]
    tokens = {state: ApiTokenFactory(**{state: True}) for state in states}
    tokens["active"] = ApiTokenFactory()
    tokens["refused"] = ApiTokenFactory(last_refused_at=hours_ago(6 * 24))
    tokens["unused"] = ApiTokenFactory(created_at=hours_ago(91 * 24))
    later = ApiTokenFactory(expires_at=hours_ago(-60 * 24))
    ApiTokenFactory(last_refused_at=hours_ago(8 * 24), revoked=True)

    own = ApiTokenFactory(read_only=True, environment="Testing", revoked=True)
    for query in (
        {"read_only__exact": 1},
        {"team__id__exact": own.team.pk},
        {"environment__exact": "Testing"},
    ):
        assert listed(admin_client, **query) == {own}
    for state in ("expired", "expiring", "refused", "unused"):
        assert listed(admin_client, state=state) == {tokens[state]}
    assert listed(admin_client, state="expires-30") == {tokens["expiring"]}
    assert listed(admin_client, state="expires-90") == {tokens["expiring"], later}
    assert tokens["revoked"] in listed(admin_client, state="revoked")
    active = {tokens["active"], tokens["refused"], tokens["unused"], later}
    assert listed(admin_client, state="active") == active
    assert len(listed(admin_client, state="unknown")) == 9


def test_only_the_name_of_a_token_can_be_changed(admin_client):
    token = ApiTokenFactory(environment="Testing", expiring=True)
    other = {
        "team": TeamFactory().pk,
        "environment": "",
        "read_only": "on",
        "expires_at": "2099-01-01T12:00",
    }

    admin_client.post(
        url("usergroups_apitoken_change", token.pk), {**other, "name": "New name"}
    )

    changed = ApiToken.objects.get()
    assert changed.name == "New name"
    for field in ("team", "environment", "read_only", "expires_at"):
        assert getattr(changed, field) == getattr(token, field)
    assert ApiToken.objects.with_secret(token.secret) == token


def test_saving_a_form_does_not_undo_a_concurrent_revocation(admin_client):
    token = ApiTokenFactory()

    def revoke_first(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and '"name"' in sql:
            with connection.cursor() as cursor:
                cursor.execute("UPDATE usergroups_apitoken SET revoked_at = created_at")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(revoke_first):
        admin_client.post(
            url("usergroups_apitoken_change", token.pk), {"name": "Renamed"}
        )

    token.refresh_from_db()
    assert (token.name, token.is_active) == ("Renamed", False)


def test_access_tokens_are_found_by_name_hint_team_and_group(admin_client):
    user_group = UserGroupFactory(
        name="Berlin", provided_id="customer-7", team__name="Acme"
    )
    token = AccessTokenFactory(user_group=user_group, name="Nightly sync")
    AccessTokenFactory()

    for text in ("nightly", token.hint, "acme", "berlin", "customer-7"):
        assert listed(admin_client, "bookmarks_accesstoken", q=text) == {token}


@pytest.mark.parametrize("model", TOKEN_FACTORIES)
def test_the_confirmed_tokens_are_revoked(admin_client, model):
    token, other = TOKEN_FACTORIES[model].create_batch(2)
    active = type(token).objects.active

    page = open_confirmation(admin_client, model, "revoke", token)
    assert f"Revoke 1 {token._meta.verbose_name}" in page.content.decode()
    assert "cannot be undone" in page.content.decode()
    assert set(active()) == {token, other}
    done = confirm(admin_client, page)

    assert set(active()) == {other}
    link = url(f"{model}_change", token.pk)
    assert f'Revoked: <a href="{link}">' in done.content.decode()
    assert LogEntry.objects.get().get_change_message() == "Revoked."


def test_an_action_reports_that_rows_no_longer_exist(admin_client):
    token = ApiTokenFactory()
    page = open_confirmation(admin_client, "usergroups_apitoken", "revoke", token)
    token.delete()

    assert "no longer exist" in confirm(admin_client, page).content.decode()


@pytest.mark.parametrize(
    ("state", "buttons"),
    [
        ({}, ["Rotate", "Revoke"]),
        ({"revoked": True}, []),
        ({"expired": True}, []),
        ({"rotated": True}, ["Revoke"]),
    ],
)
def test_the_buttons_depend_on_the_state_of_the_token(admin_client, state, buttons):
    token = ApiTokenFactory(**state)

    page = page_of(admin_client, token).content.decode()

    button = r'<button type="submit"[^>]* form="object-actions"[^>]*>([\w ]+)</button>'
    assert re.findall(button, page) == buttons


@pytest.mark.parametrize("model", TOKEN_FACTORIES)
@pytest.mark.parametrize("action", ["revoke", "rotate", "delete_selected"])
def test_each_action_requires_its_permissions(client, model, action):
    needed = {
        "revoke": ["revoke"],
        "rotate": ["revoke", "add"],
        "delete_selected": ["delete"],
    }[action]
    token = TOKEN_FACTORIES[model]()

    def opens_confirmation():
        page = open_confirmation(client, model, action, token)
        # Only a confirmation page has "previous_url". A redirect has no context.
        return "previous_url" in (page.context or {})

    for lacking in needed:
        all_but_one = {"view", "change", "add", "revoke", "delete"} - {lacking}
        allow_only(client, model, *all_but_one)
        assert not opens_confirmation()
        assert set(type(token).objects.active()) == {token}
    allow_only(client, model, "view", *needed)
    assert opens_confirmation()


def test_the_list_shows_access_expiry_and_last_use(admin_client):
    now = timezone.now()
    ApiTokenFactory(
        read_only=True,
        expires_at=now + timedelta(days=3, hours=1),
        last_used_at=now - timedelta(hours=2),
    )
    ApiTokenFactory()

    page = admin_client.get(url("usergroups_apitoken_changelist")).content.decode()

    def column(name):
        cells = re.findall(rf'<td class="field-{name}[^>]*>(.*?)</td>', page)
        return [text_of(cell) for cell in cells]

    assert column("access") == ["Read, write", "Read"]
    date = date_format(now + timedelta(days=3, hours=1), "DATE_FORMAT")
    assert column("expires") == ["Never", f"{date} in 3 days"]
    assert column("last_used") == ["Never", "2 hours ago"]
    # The tooltip has the format of the language.
    assert f'title="{now.strftime("%Y-")}' not in page
    assert page.count('<time datetime="') == 3


def test_a_host_can_add_buttons_to_the_page_of_a_token(admin_client, monkeypatch):
    actions = {**TokenAdmin.object_actions, "delete_selected": "Remove"}
    monkeypatch.setattr(TokenAdmin, "object_actions", actions)

    page = admin_client.get(url("usergroups_apitoken_change", ApiTokenFactory().pk))

    labels = [label for _, label in page.context["buttons"]]
    assert labels == ["Rotate", "Revoke", "Remove"]


def page_of(client, token):
    return client.get(
        url(f"{token._meta.app_label}_{token._meta.model_name}_change", token.pk)
    )


def text_of(element):
    """Return the text of HTML without tags, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", "", element).split())


def sentence(page):
    """Return the HTML of the paragraph at the top of the page of a token: its
    state, what it means, and what to do.
    """
    pattern = r'<p class="sentence">(.*?)</p>'
    [paragraph] = re.findall(pattern, page.content.decode(), re.DOTALL)
    return paragraph


# Times in the future are an hour longer than the text says, because the page
# is rendered a moment later.
@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, "Active The token works as “Token” on /api/."),
        ({"expires_at": hours_ago(-73)}, "Expiring soon Expires in 3 days."),
        ({"expires_at": hours_ago(61 * 24)}, "Expired 61 days ago. Calls get 401."),
        ({"revoked_at": hours_ago(2)}, "Revoked 2 hours ago. Calls get 401."),
        (
            {"rotated_at": hours_ago(1), "expires_at": hours_ago(-25)},
            "Rotated 1 hour ago, and expires in 1 day. Until then, both tokens work.",
        ),
        (
            {
                "expires_at": hours_ago(2),
                "rotated_at": hours_ago(2),
                "refused_minutes": 1_400,
                "first_refused_at": datetime(2026, 5, 4, 12, tzinfo=UTC),
                "last_refused_at": hours_ago(1),
            },
            "Expired 2 hours ago. Calls get 401. Calls refused in 1,400 minutes since "
            "May 4, 2026 (token replaced), the last 1 hour ago.",
        ),
    ],
)
def test_the_page_begins_with_the_state_of_the_token_and_what_to_do(
    admin_client, fields, shown
):
    page = page_of(admin_client, ApiTokenFactory(**fields))

    assert text_of(sentence(page)) == shown


@pytest.mark.parametrize("model", TOKEN_FACTORIES)
def test_the_page_of_a_rotated_token_says_what_replaced_it_and_by_whom(
    admin_client, model
):
    token = TOKEN_FACTORIES[model](name="CI")
    other = TOKEN_FACTORIES[model](
        name="Other", **{token.owner_field: token.owner}
    )  # rotated with it
    act(admin_client, model, "rotate", token, other, grace="0")
    successor = type(token).objects.get(name="CI", rotated_at=None)

    page = page_of(admin_client, token)
    page_of_successor = page_of(admin_client, successor)

    assert text_of(sentence(page)) == (
        f"Expired just now. Calls get 401. Replaced by {successor} just now by admin."
    )
    shown = text_of(sentence(page_of_successor))
    assert shown.endswith(f"It replaces {token}.")
    for other_page, linked in ((page, successor), (page_of_successor, token)):
        assert f'<a href="{url(f"{model}_change", linked.pk)}">' in sentence(other_page)


def test_a_token_that_was_rotated_by_the_api_says_what_replaced_it(admin_client):
    token = ApiTokenFactory()
    successor, _ = token.rotate(timedelta(0))
    ApiToken.objects.filter(pk=successor.pk).update(name="Renamed")

    assert text_of(sentence(page_of(admin_client, token))) == (
        "Expired just now. Calls get 401. "
        f"Replaced by {successor.hint}… Renamed just now."
    )


def test_the_successors_of_a_leaked_token_are_revoked_if_the_operator_says_so(
    admin_client,
):
    token = ApiTokenFactory()
    token.rotate(timedelta(days=1))

    page = open_confirmation(admin_client, "usergroups_apitoken", "revoke", token)
    assert "Also revoke 1 active successor." in page.content.decode()
    confirm(admin_client, page)
    assert ApiToken.objects.active().count() == 1

    page = open_confirmation(admin_client, "usergroups_apitoken", "revoke", token)
    confirm(admin_client, page, successors="on")
    assert not ApiToken.objects.active().exists()


def test_the_page_of_a_revoked_token_says_who_revoked_it(admin_client):
    token = ApiTokenFactory()
    act(admin_client, "usergroups_apitoken", "revoke", token)

    shown = text_of(sentence(page_of(admin_client, token)))
    assert shown == "Revoked just now by admin. Calls get 401."
