"""Tokens are rotated, or revoked and replaced, in the admin."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import DatabaseError, connection
from django.utils import timezone

from tests.admin.actions import act, allow, ask, ask_on_page, confirm, secrets_on, url
from tests.admin.tokens import FACTORIES, listed, shown_and_stored
from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("model", FACTORIES)
def test_rotation_issues_a_successor_with_the_same_rights(admin_client, caplog, model):
    token = FACTORIES[model](name="CI", read_only=True)
    owner = {"environment": "Testing"} if model == "usergroups_apitoken" else {}
    type(token).objects.update(**owner)

    page = act(admin_client, model, "rotate", token, grace="24")

    assert "no-store" in page["Cache-Control"]
    [secret] = secrets_on(page)
    successor = type(token).objects.authenticate(secret)
    assert successor != token
    token.refresh_from_db()
    for field in ("name", "read_only", "owner", "expires_at", *owner):
        assert getattr(successor, field) == (None if field == "expires_at" else getattr(token, field))
    assert timedelta(hours=23) < token.expires_at - timezone.now() < timedelta(hours=24)
    assert {(entry.object_id, entry.get_change_message()) for entry in LogEntry.objects.all()} == {
        (str(token.pk), f"Rotated. Its successor is {successor.hint}…"),
        (str(successor.pk), f"Issued as the successor of {token.hint}…"),
    }
    places = shown_and_stored(admin_client, model, token, successor, caplog=caplog)
    assert [place for place in places if secret in place] == []


def test_without_a_grace_period_the_old_token_expires_at_once(admin_client):
    token = ApiTokenFactory()

    act(admin_client, "usergroups_apitoken", "rotate", token, grace="0")

    assert ApiToken.objects.authenticate(token.secret) is None
    assert ApiToken.objects.active().count() == 1


def test_rotation_keeps_the_lifetime_and_never_extends_the_old_token(admin_client):
    now = timezone.now()
    token = ApiTokenFactory(created_at=now - timedelta(days=29), expires_at=now + timedelta(days=1))

    act(admin_client, "usergroups_apitoken", "rotate", token, grace=str(30 * 24))

    old, successor = ApiToken.objects.order_by("pk")
    assert old.expires_at == token.expires_at
    assert timedelta(days=30) <= successor.expires_at - now < timedelta(days=30, minutes=1)


@pytest.mark.parametrize("grace", ["", "5", "soon"])
def test_the_grace_period_must_be_one_of_the_choices(admin_client, grace):
    token = ApiTokenFactory()

    page = act(admin_client, "usergroups_apitoken", "rotate", token, grace=grace)

    assert page.context["form"].errors.keys() == {"grace"}
    assert ApiToken.objects.get().expires_at is None


@pytest.mark.parametrize("state", ["revoked", "expired", "rotated"])
def test_only_active_tokens_are_rotated(admin_client, state):
    token = ApiTokenFactory(**{state: True})

    page = act(admin_client, "usergroups_apitoken", "rotate", token, grace="24")

    assert "Only active tokens without a successor can be rotated." in page.content.decode()
    assert ApiToken.objects.count() == 1


def test_several_tokens_are_rotated_at_once(admin_client):
    tokens = ApiTokenFactory.create_batch(3)

    page = act(admin_client, "usergroups_apitoken", "rotate", *tokens, grace="1")

    assert len({ApiToken.objects.authenticate(secret) for secret in secrets_on(page)} - {None}) == 3


def test_each_secret_is_shown_with_its_owner(admin_client):
    one, other = AccessTokenFactory(name="Nightly"), AccessTokenFactory()

    page = act(admin_client, "bookmarks_accesstoken", "rotate", one, other, grace="24").content.decode()

    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert f"Nightly for {one.user_group}: read and write, does not expire" in text
    assert f"Unnamed token for {other.user_group}: read and write, does not expire" in text
    assert "these secrets are shown" in text


def test_no_token_is_rotated_if_the_rotation_fails(admin_client):
    tokens = ApiTokenFactory.create_batch(2)
    admin_client.raise_request_exception = False

    def fail_at_the_end(execute, sql, params, many, context):
        if sql.startswith('INSERT INTO "django_admin_log"'):
            raise DatabaseError("no")
        return execute(sql, params, many, context)

    page = ask(admin_client, "usergroups_apitoken", "rotate", *tokens)
    with connection.execute_wrapper(fail_at_the_end):
        assert confirm(admin_client, page, grace="0").status_code == 500

    assert set(ApiToken.objects.active()) == set(tokens)
    assert not LogEntry.objects.exists()


def test_a_token_with_the_latest_possible_expiry_can_be_rotated(admin_client):
    for_ever = datetime(9999, 12, 31, tzinfo=UTC)
    token = ApiTokenFactory(expires_at=for_ever, unused=True)

    act(admin_client, "usergroups_apitoken", "rotate", token, grace="0")

    assert ApiToken.objects.active().get().expires_at == for_ever


def test_a_token_is_rotated_only_once(admin_client):
    token = ApiTokenFactory()
    page = ask(admin_client, "usergroups_apitoken", "rotate", token)
    confirm(admin_client, page, grace="1")

    again = confirm(admin_client, page, grace="1")

    assert "Only active tokens without a successor can be rotated." in again.content.decode()
    assert ApiToken.objects.count() == 2


@pytest.mark.parametrize("model", FACTORIES)
def test_a_token_and_its_successor_link_to_each_other(admin_client, model):
    token = FACTORIES[model](name="CI")
    successor, _ = token.rotate(timedelta(hours=1))

    old_page, new_page = (
        admin_client.get(url(f"{model}_change", each.pk)).content.decode() for each in (token, successor)
    )

    assert f'<a href="{url(f"{model}_change", successor.pk)}">{successor}</a>' in old_page
    assert f'<a href="{url(f"{model}_change", token.pk)}">{token}</a>' in new_page
    assert '<span class="badge rotated">Rotated</span>' in new_page


def test_the_page_of_a_token_remains_when_its_successor_and_predecessor_are_deleted(admin_client):
    first = ApiTokenFactory()
    second = first.rotate(timedelta(hours=1))[0]
    third = second.rotate(timedelta(hours=1))[0]
    first.delete()
    third.delete()

    page = admin_client.get(url("usergroups_apitoken_change", second.pk))

    assert page.status_code == 200
    assert (second.get_predecessor(), ApiToken.objects.get().get_successor()) == (None, None)


def test_rotated_tokens_have_a_state_of_their_own(admin_client):
    tokens = [ApiTokenFactory(), ApiTokenFactory(expiring=True), ApiTokenFactory(unused=True)]
    successors = {token.rotate(timedelta(hours=1))[0] for token in tokens}
    ApiTokenFactory(rotated=True, expired=True)
    ApiTokenFactory(rotated=True, revoked=True)

    assert listed(admin_client, state="rotated") == set(tokens)
    assert listed(admin_client, state="active") | listed(admin_client, state="expiring") == successors
    assert listed(admin_client, use="unused") == set()


@pytest.mark.parametrize("model", FACTORIES)
def test_a_leaked_token_is_revoked_and_replaced_at_once(admin_client, caplog, model):
    token = FACTORIES[model](name="CI", read_only=True)

    page = ask(admin_client, model, "replace", token)
    assert f"Revoke and replace 1 {token._meta.verbose_name}" in page.content.decode()
    done = confirm(admin_client, page)

    [secret] = secrets_on(done)
    successor = type(token).objects.authenticate(secret)
    token.refresh_from_db()
    assert (token.state, token.get_successor(), successor.get_predecessor()) == ("revoked", successor, token)
    assert (successor.name, successor.read_only, successor.owner) == ("CI", True, token.owner)
    changes = LogEntry.objects.filter(object_id=token.pk).values_list("change_message", flat=True)
    assert set(changes) == {"Revoked.", f"Rotated. Its successor is {successor.hint}…"}
    places = shown_and_stored(admin_client, model, token, successor, caplog=caplog)
    assert [place for place in places if secret in place] == []


def test_tokens_with_a_successor_are_revoked_and_expired_ones_stay_as_they_are(admin_client):
    rotated, expired, revoked = (ApiTokenFactory(**{state: True}) for state in ("rotated", "expired", "revoked"))

    page = act(admin_client, "usergroups_apitoken", "replace", rotated, expired, revoked)

    assert secrets_on(page) == []
    assert "Revoked: 1. Replaced: 0. Already expired or revoked: 2." in page.content.decode()
    assert ApiToken.objects.count() == 3
    assert set(ApiToken.objects.filter(revoked_at=None)) == {expired}


def test_a_replacement_reports_what_it_did(admin_client, transactional_db):
    tokens = [ApiTokenFactory(), ApiTokenFactory(rotated=True), ApiTokenFactory(revoked=True)]

    page = act(admin_client, "usergroups_apitoken", "replace", *tokens)

    assert len(secrets_on(page)) == 1
    assert "Revoked: 2. Replaced: 1. Already expired or revoked: 1." in page.content.decode()


def test_replacing_a_token_from_its_page_takes_two_requests(admin_client):
    token = ApiTokenFactory()
    page = ask_on_page(admin_client, "usergroups_apitoken", "replace", token)

    done = confirm(admin_client, page)

    assert len(secrets_on(done)) == 1


def test_replacing_requires_the_permissions_to_add_and_to_revoke(client):
    token = ApiTokenFactory()

    for lacking in ("add", "revoke"):
        allow(client, "usergroups_apitoken", "view", "change", *{"add", "revoke"} - {lacking})
        assert "confirmation" not in (ask(client, "usergroups_apitoken", "replace", token).context or {})


@pytest.mark.parametrize("action", ["revoke", "replace", "rotate"])
def test_the_confirmation_tells_who_owns_and_who_uses_the_token(admin_client, action):
    token = ApiTokenFactory(
        name="CI", environment="Testing", read_only=True, recently_used=True, last_used_address="192.0.2.7",
        last_used_agent="<b>curl</b>",
    )  # fmt: skip
    successor, _ = token.rotate(timedelta(hours=1))

    page = ask(admin_client, "usergroups_apitoken", action, token).content.decode()

    cells = re.findall(r'<td data-label="([^"]+)">(.*?)</td>', page, re.DOTALL)
    shown = {label: re.sub(r"<[^>]+>", " ", cell).strip() for label, cell in cells}
    assert shown["Last used"].endswith("192.0.2.7 · &lt;b&gt;curl&lt;/b&gt;")
    assert shown | {"Last used": ""} == {
        "API token": str(token),
        "Team": token.team.name,
        "Environment": "Testing",
        "Access": "Read",
        "State": "Rotated",
        "Last used": "",
        "Successor": f"{successor}   Active",
    }


def test_a_confirmation_takes_the_same_queries_for_few_and_for_many_tokens(admin_client):
    tokens = ApiTokenFactory.create_batch(30)
    for token in tokens:
        token.rotate(timedelta(hours=1))

    few, many = (queries_of(ask, admin_client, "usergroups_apitoken", "revoke", *tokens[:number]) for number in (1, 30))
    page = ask(admin_client, "usergroups_apitoken", "revoke", *tokens).content.decode()

    assert len(few) == len(many)
    assert page.count('<td data-label="State">') == 20
    assert "and 10 more" in page


def test_the_last_client_is_shown_on_the_page_of_the_token(admin_client):
    token = ApiTokenFactory(recently_used=True, last_used_address="192.0.2.7", last_used_agent="<b>curl</b>")

    page = admin_client.get(url("usergroups_apitoken_change", token.pk)).content.decode()

    assert "192.0.2.7" in page
    assert "&lt;b&gt;curl&lt;/b&gt;" in page
