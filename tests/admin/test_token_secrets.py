"""The secret of an issued token is shown once, in the response to the form."""

import csv
from datetime import timedelta
from io import StringIO

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.admin.actions import act, address_of, ask, issue, secrets_on, url
from tests.admin.tokens import ISSUE, shown_and_stored
from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import TRANSACTION_CONTROL
from tests.usergroups.factories import ApiTokenFactory, TeamFactory
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db

MODEL = "usergroups_apitoken"


@pytest.fixture
def team():
    return TeamFactory()


@pytest.mark.parametrize("model", ISSUE)
@pytest.mark.parametrize("button", ["_save", "_continue", "_addanother", "_popup"])
def test_a_secret_is_only_in_the_response_to_the_form(admin_client, caplog, model, button):
    token_model, owner = ISSUE[model]

    page = issue(admin_client, model, **owner(), name="CI", **{button: "1"})
    reloaded = admin_client.get(url(f"{model}_add"))

    assert (page.redirect_chain, page.status_code, reloaded.status_code) == ([], 200, 200)
    assert "no-store" in page["Cache-Control"]
    [secret] = secrets_on(page)
    token = token_model.objects.authenticate(secret)
    assert (token.name, token_model.objects.count()) == ("CI", 1)
    places = shown_and_stored(admin_client, model, token, caplog=caplog)
    assert [place for place in [reloaded.content.decode(), *places] if secret in place] == []
    assert f'data-reload="{url(f"{model}_change", token.pk)}"' in page.content.decode()


def test_the_page_with_the_secret_leads_back_to_the_filtered_list(admin_client):
    team = TeamFactory()
    query = f"?_changelist_filters=team__id__exact%3D{team.pk}"

    page = admin_client.post(url("usergroups_apitoken_add") + query, {"team": team.pk, "environment": ""}, follow=True)

    assert f'href="{url("usergroups_apitoken_changelist")}?team__id__exact={team.pk}"' in page.content.decode()


def test_an_invalid_form_issues_no_token(admin_client):
    page = admin_client.post(url(f"{MODEL}_add"), {"team": "", "environment": "Production"})

    assert page.context["adminform"].errors.keys() == {"team", "environment"}
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(("lifetime", "days"), [("30", 30), ("90", 90), ("365", 365), ("", None)])
def test_a_new_token_has_one_of_the_lifetimes(admin_client, team, lifetime, days):
    before = timezone.now()

    issue(admin_client, MODEL, team=team.pk, lifetime=lifetime)

    expires_at = ApiToken.objects.get().expires_at
    if days is None:
        assert expires_at is None
    else:
        assert timedelta() <= expires_at - before - timedelta(days=days) < timedelta(minutes=1)


def test_another_lifetime_is_refused(admin_client, team):
    page = issue(admin_client, MODEL, team=team.pk, lifetime="36500")

    assert page.context["adminform"].errors.keys() == {"lifetime"}
    assert not ApiToken.objects.exists()


def test_the_form_of_a_new_token_begins_with_its_name(admin_client):
    form = admin_client.get(url(f"{MODEL}_add")).context["adminform"].form

    assert list(form.fields) == ["name", "team", "environment", "read_only", "lifetime"]


def test_a_form_that_is_not_stored_shows_no_secret(admin_client, team):
    admin_client.raise_request_exception = False

    def fail(execute, sql, params, many, context):
        if sql.startswith('INSERT INTO "django_admin_log"'):
            raise DatabaseError("no")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail):
        page = issue(admin_client, MODEL, team=team.pk)

    assert (page.status_code, secrets_on(page)) == (500, [])
    assert not ApiToken.objects.exists()


def test_each_of_several_secrets_is_shown_beside_the_old_token(admin_client):
    tokens = AccessTokenFactory.create_batch(2, name='=1+1, "x"')

    page = act(admin_client, "bookmarks_accesstoken", "rotate", *tokens, grace="24")

    rows = page.context["rows"]
    assert {row["old"] for row in rows} == set(tokens)
    assert secrets_on(page) == [row["secret"] for row in rows]
    assert list(csv.DictReader(StringIO(page.context["csv"]))) == [
        {"old": row["old"].hint, "new": row["secret"], "name": '\'=1+1, "x"', "user_group": str(row["old"].user_group)}
        for row in rows
    ]


@pytest.mark.parametrize(
    ("action", "queries", "fields"), [("rotate", 7, {"grace": "1"}), ("replace", 10, {}), ("revoke", 7, {})]
)
def test_an_action_takes_the_same_queries_for_any_number_of_tokens(admin_client, action, queries, fields):
    numbers = []
    for number in (1, 2, 210):  # The first round caches the content type of the history.
        tokens = ApiTokenFactory.create_batch(number)
        page = ask(admin_client, MODEL, action, tokens[0], query="?state=active")
        form = {**fields, "confirmed": ",".join(str(token.pk) for token in tokens)}
        with CaptureQueriesContext(connection) as captured:
            done = admin_client.post(address_of(page), form)
        statements = [each["sql"] for each in captured if not each["sql"].startswith(TRANSACTION_CONTROL)]
        inserts = {sql.partition("(")[0] for sql in statements if sql.startswith("INSERT")}  # SQLite takes several
        numbers.append(len([sql for sql in statements if not sql.startswith("INSERT")]) + len(inserts))
        assert len(secrets_on(done)) == (0 if action == "revoke" else number)

    assert numbers[1:] == [queries, queries]
