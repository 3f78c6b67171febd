"""Tokens are issued and rotated, and their secrets are shown once, in the
response to the form.
"""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import DatabaseError, connection
from django.utils import timezone

from bookmarks.models import AccessToken
from tests.admin.actions import (
    TOKEN_FACTORIES,
    TOKEN_FORMS,
    act,
    confirm,
    issue,
    open_confirmation,
    secrets_on,
    shown_and_stored,
    url,
)
from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, store_tokens
from usergroups.events import Event
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db

MODEL = "usergroups_apitoken"


@pytest.fixture
def team():
    return TeamFactory()


@pytest.mark.parametrize("model", TOKEN_FORMS)
@pytest.mark.parametrize("extra_field", ["_save", "_continue", "_addanother", "_popup"])
def test_a_secret_is_only_in_the_response_to_the_form(
    admin_client, caplog, model, extra_field
):
    token_model, new_owner = TOKEN_FORMS[model]

    page = issue(admin_client, model, **new_owner(), name="CI", **{extra_field: "1"})
    reloaded = admin_client.get(url(f"{model}_add"))

    assert page.redirect_chain == []
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    [secret] = secrets_on(page)
    token = token_model.objects.with_secret(secret)
    assert (token.name, token_model.objects.count()) == ("CI", 1)
    assert secret not in reloaded.content.decode()
    places = shown_and_stored(admin_client, model, token, caplog=caplog)
    assert [place for place in places if secret in place] == []
    # the page that a script opens when the operator reloads this one
    assert f'data-reload="{url(f"{model}_changelist")}"' in page.content.decode()


@pytest.mark.parametrize("days", [30, 90, 365])
def test_a_new_token_has_one_of_the_lifetimes(admin_client, team, days):
    issue(admin_client, MODEL, team=team.pk, lifetime=str(days))

    token = ApiToken.objects.get()
    assert (token.expires_at - token.created_at).days == days


def test_a_new_token_may_have_no_expiry(admin_client, team):
    issue(admin_client, MODEL, team=team.pk, lifetime="")

    assert ApiToken.objects.get().expires_at is None


@pytest.mark.parametrize("model", TOKEN_FORMS)
def test_an_owner_has_a_limited_number_of_active_tokens(admin_client, model):
    token_model, new_owner = TOKEN_FORMS[model]
    fields = new_owner()
    name = token_model.owner_field
    owner = token_model._meta.get_field(name).related_model.objects.get(pk=fields[name])
    # An access token has the scope of its user group.
    store_tokens(token_model, 1_000, **{name: owner, **getattr(owner, "scope", {})})

    page = issue(admin_client, model, **fields)

    refusal = "There are already 1,000 active tokens. Revoke some of them first."
    assert refusal in page.content.decode()
    assert token_model.objects.count() == 1_000


def test_at_the_maximum_a_token_is_rotated_without_a_grace_period_only(
    admin_client, team
):
    token = ApiTokenFactory(team=team)
    store_tokens(ApiToken, 999, team=team)

    refused = act(admin_client, MODEL, "rotate", token, grace="24")
    rotated = act(admin_client, MODEL, "rotate", token, grace="0")

    assert "more than 1,000 active tokens" in refused.content.decode()
    assert secrets_on(refused) == []
    assert len(secrets_on(rotated)) == 1


def test_each_of_several_secrets_is_shown_beside_the_old_token(admin_client):
    tokens = AccessTokenFactory.create_batch(2, name="Nightly")

    page = act(admin_client, "bookmarks_accesstoken", "rotate", *tokens, grace="24")

    text = " ".join(re.sub(r"<[^>]+>", "", page.content.decode()).split())
    for old, secret in zip(tokens, secrets_on(page), strict=True):
        new = AccessToken.objects.with_secret(secret)
        described = (
            f"{new} · {old.user_group} · Read, write · Active · expires: Never · last "
            f"used: Never {old}"
        )
        assert f"{secret} {described}" in text


@pytest.mark.parametrize(
    ("action", "time", "fields", "expected"),
    [("rotate", "rotated_at", {"grace": "24"}, 13), ("revoke", "revoked_at", {}, 10)],
)
def test_an_action_takes_the_same_queries_for_any_number_of_tokens(
    admin_client, action, time, fields, expected
):
    numbers = []
    # The first round caches the content type of the history.
    for number in (1, 2, 30):
        tokens = ApiTokenFactory.create_batch(number)
        page = open_confirmation(
            admin_client, MODEL, action, tokens[0], query="?state=active"
        )
        keys = [token.pk for token in tokens]
        form = {**fields, "confirmed": keys}
        statements = queries_of(admin_client.post, page.context["address"], form)
        # Count the inserts into a table as one, because SQLite splits large
        # ones.
        inserts = [sql for sql in statements if sql.startswith("INSERT")]
        tables = {sql.partition("(")[0] for sql in inserts}
        numbers.append(len(statements) - len(inserts) + len(tables))
        assert not ApiToken.objects.filter(pk__in=keys, **{time: None}).exists()

    # Session and user. The rows, unlocked and locked. The update. The new
    # tokens, or the rows that can be revoked. The events, and Django's history in
    # two statements. A rotation locks the owners, counts their tokens, and reads
    # those that it may skip, as well. A revocation reads the successors.
    assert numbers[1:] == [expected, expected]


@pytest.mark.parametrize("model", TOKEN_FACTORIES)
def test_rotation_issues_a_successor_with_the_same_rights(admin_client, caplog, model):
    token = TOKEN_FACTORIES[model](name="CI", read_only=True)
    own_fields = {}
    if model == "usergroups_apitoken":
        own_fields = {"environment": "Testing"}
        ApiToken.objects.update(environment="Testing")

    page = act(admin_client, model, "rotate", token, grace="24")

    assert "no-store" in page["Cache-Control"]
    [secret] = secrets_on(page)
    successor = type(token).objects.with_secret(secret)
    assert successor != token
    token.refresh_from_db()
    # as the token had no expiry before its rotation
    assert successor.expires_at is None
    for field in ("name", "read_only", "owner", *own_fields):
        assert getattr(successor, field) == getattr(token, field)
    assert timedelta(hours=23) < token.expires_at - timezone.now() < timedelta(hours=24)
    assert Event.objects.get().keys == f"\n{token.pk}\n{successor.pk}\n"
    assert LogEntry.objects.get().get_change_message() == "Rotated."
    places = shown_and_stored(admin_client, model, token, successor, caplog=caplog)
    assert [place for place in places if secret in place] == []


@pytest.mark.parametrize("state", ["revoked", "expired", "rotated"])
def test_only_active_tokens_are_rotated(admin_client, state):
    token = ApiTokenFactory(**{state: True})

    page = act(admin_client, MODEL, "rotate", token, grace="24").content.decode()

    assert "Only active tokens without a successor can be rotated." in page
    assert ApiToken.objects.count() == 1


def test_no_token_is_rotated_if_the_rotation_fails(admin_client):
    tokens = ApiTokenFactory.create_batch(2)
    admin_client.raise_request_exception = False

    def fail_at_the_end(execute, sql, params, many, context):
        if sql.startswith('INSERT INTO "django_admin_log"'):
            raise DatabaseError("no")
        return execute(sql, params, many, context)

    page = open_confirmation(admin_client, "usergroups_apitoken", "rotate", *tokens)
    with connection.execute_wrapper(fail_at_the_end):
        assert confirm(admin_client, page, grace="0").status_code == 500

    assert set(ApiToken.objects.active()) == set(tokens)
    assert not LogEntry.objects.exists()


def test_the_confirmation_tells_who_owns_and_who_uses_the_token(admin_client):
    token = ApiTokenFactory(
        name="CI",
        environment="Testing",
        read_only=True,
        recently_used=True,
        last_used_address="192.0.2.7",
        last_used_agent="<b>curl</b>",
    )

    page = open_confirmation(admin_client, MODEL, "revoke", token).content.decode()

    [row] = re.findall(r'<li class="wrap">(.*?)</li>', page)
    # without tags other than <b>
    described, client = re.sub("<(?!b>).+?>", "", row).split(" · last used: ")
    team = token.team.name
    assert described == f"{token} · {team} · Testing · Read · Active · expires: Never"
    assert client.endswith(
        "just now · 192.0.2.7 · &lt;b&gt;curl&lt;/b&gt; · used in the last 24 hours"
    )
