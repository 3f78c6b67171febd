"""The secret of an issued token is shown once, on the page after the form."""

import csv
from io import StringIO

import pytest
from django.db import connection

from tests.admin.actions import act, allow, ask, issue, secrets_on, url
from tests.admin.tokens import ISSUE, shown_and_stored
from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import on_another_connection, queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory
from usergroups.models import ApiToken
from usergroups.tokens import secret_format

pytestmark = pytest.mark.django_db

MODEL = "usergroups_apitoken"


@pytest.fixture
def team():
    return TeamFactory()


def submit(client, team, **fields):
    """Submit the form of a new API token, and return the address to which it redirects."""
    return client.post(url(f"{MODEL}_add"), {"team": team.pk, **fields}).url


@pytest.mark.parametrize("model", ISSUE)
@pytest.mark.parametrize("button", ["_save", "_continue", "_addanother", "_popup"])
def test_a_secret_is_shown_once_on_the_page_after_the_form(admin_client, caplog, model, button):
    token_model, owner = ISSUE[model]

    page = issue(admin_client, model, **owner(), name="CI", **{button: "1"})
    reloaded = admin_client.get(page.request["PATH_INFO"])

    [(_, status)] = page.redirect_chain
    assert (status, page.status_code, reloaded.status_code) == (302, 200, 200)
    assert "no-store" in page["Cache-Control"]
    [secret] = secrets_on(page)
    token = token_model.objects.authenticate(secret)
    assert (token.name, token_model.objects.count()) == ("CI", 1)
    assert secrets_on(reloaded) == []
    assert "Secrets are shown only once" in reloaded.content.decode()
    assert url(f"{model}_change", token.pk) in reloaded.content.decode()
    places = shown_and_stored(admin_client, model, token, caplog=caplog)
    assert [place for place in [reloaded.content.decode(), *places] if secret in place] == []


def test_the_page_with_the_secret_leads_back_to_the_filtered_list(admin_client):
    team = TeamFactory()
    query = f"?_changelist_filters=team__id__exact%3D{team.pk}"

    page = admin_client.post(url("usergroups_apitoken_add") + query, {"team": team.pk, "environment": ""}, follow=True)

    assert f'href="{url("usergroups_apitoken_changelist")}?team__id__exact={team.pk}"' in page.content.decode()


def test_an_invalid_form_issues_no_token(admin_client):
    page = admin_client.post(url(f"{MODEL}_add"), {"team": "", "environment": "Production"})

    assert page.context["adminform"].errors.keys() == {"team", "environment"}
    assert not ApiToken.objects.exists()


def test_no_secret_exists_until_its_page_is_loaded(admin_client, team):
    page = submit(admin_client, team)
    withheld = ApiToken.objects.get()
    [secret] = secrets_on(admin_client.get(page))

    token = ApiToken.objects.get()
    assert (withheld.is_withheld, token.is_withheld) == (True, False)
    assert secret.startswith(withheld.hint)
    assert secret_format.is_well_formed(secret, "uga")
    assert token.digest != withheld.digest


@pytest.mark.parametrize(
    "request_in_advance",
    [
        lambda client, page: client.head(page),
        lambda client, page: client.get(page, headers={"Sec-Purpose": "prefetch;prerender"}),
        lambda client, page: client.get(page, headers={"Purpose": "prefetch"}),
        lambda client, page: client.options(page),
    ],
    ids=["HEAD", "Sec-Purpose", "Purpose", "OPTIONS"],
)
def test_only_a_page_that_is_seen_uses_up_the_secret(admin_client, team, request_in_advance):
    page = submit(admin_client, team)

    before = request_in_advance(admin_client, page)

    assert secrets_on(before) == []
    assert len(secrets_on(admin_client.get(page))) == 1


def test_a_token_that_was_revoked_meanwhile_has_no_secret(admin_client, team):
    page = submit(admin_client, team)
    ApiToken.objects.get().revoke()

    assert secrets_on(admin_client.get(page)) == []
    assert ApiToken.objects.get().is_withheld


def test_a_secret_is_shown_only_in_the_session_that_issued_the_token(client, admin_client, team):
    page = submit(admin_client, team)
    allow(client, MODEL, "view", "add")

    assert secrets_on(client.get(page)) == []
    assert len(secrets_on(admin_client.get(page))) == 1


def test_a_secret_is_shown_only_with_the_permission_to_issue_tokens(admin_client, admin_user, team):
    page = submit(admin_client, team)
    admin_user.is_superuser = False
    admin_user.save()

    assert admin_client.get(page).status_code == 403
    assert ApiToken.objects.get().is_withheld


def test_a_secret_is_not_shown_on_the_page_of_another_kind_of_token(admin_client, team):
    page = submit(admin_client, team)
    batch = page.rstrip("/").rpartition("/")[2]

    assert secrets_on(admin_client.get(url("bookmarks_accesstoken_issued", batch))) == []
    assert len(secrets_on(admin_client.get(page))) == 1


def test_tokens_that_are_issued_in_two_tabs_are_shown_on_their_own_pages(admin_client, team):
    first, second = submit(admin_client, team, name="First"), submit(admin_client, team, name="Second")

    for page, name in ((first, "First"), (second, "Second")):
        [secret] = secrets_on(admin_client.get(page))
        assert ApiToken.objects.authenticate(secret).name == name


def test_the_session_may_be_in_a_cookie(client, admin_user, settings, team):
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    client.force_login(admin_user)

    page = submit(client, team)
    cookies = client.cookies.copy()
    [secret] = secrets_on(client.get(page))
    client.cookies = cookies  # an older cookie, which has everything that it had

    assert secrets_on(client.get(page)) == []
    assert ApiToken.objects.authenticate(secret)


def test_the_secret_is_shown_once_in_a_host_with_a_transaction_for_each_request(admin_client, team, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)

    page = submit(admin_client, team)

    assert [len(secrets_on(admin_client.get(page))) for _ in range(2)] == [1, 0]


def test_of_two_concurrent_requests_one_gets_the_secret(transactional_db, team):
    token, _ = ApiToken.objects.issue(withheld=True, team=team)
    other = []

    def show_first(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and not other:
            other.append(None)
            on_another_connection(lambda: other.extend(ApiToken.objects.show_withheld()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(show_first):
        shown = ApiToken.objects.filter(team__name__gt="").show_withheld()

    [_, (_, secret)] = other
    assert shown == []
    assert ApiToken.objects.authenticate(secret) == token


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


def test_one_page_takes_three_queries_and_an_update_for_each_token(admin_client):
    tokens = ApiTokenFactory.create_batch(3)
    page = ask(admin_client, MODEL, "rotate", *tokens)
    form = {"action": "rotate", "_selected_action": tokens[0].pk, "select_across": "1", "grace": "1",
            "confirmed": page.context["keys"]}  # fmt: skip
    address = admin_client.post(url(f"{MODEL}_changelist"), form).url

    queries = queries_of(admin_client.get, address)

    assert len([query for query in queries if query.startswith("UPDATE")]) == 3
    assert len([query for query in queries if "usergroups_apitoken" in query]) == 6
