"""Single sign-on of operators, with an identity provider of the tests' own, and
what the service does with the claims of a provider.

Authlib has tests of its own for the protocol.
"""

from contextlib import ExitStack
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.urls import include, path
from django.utils import timezone

from bookmarks_service import single_sign_on, urls
from bookmarks_service.single_sign_on import update_account
from tests.bookmarks_service.identity_provider import (
    ANNA,
    CLIENT_ID,
    CLIENT_SECRET,
    CODE,
    identity_provider,
)
from tests.bookmarks_service.test_settings import load_settings

pytestmark = pytest.mark.database_independent

START = "/admin/single-sign-on/"

urlpatterns = [
    path("admin/", include("bookmarks_service.single_sign_on")),
    *urls.urlpatterns,
]
"""The URLs that the service has with single sign-on.

The settings of the tests do not turn it on.
"""


@pytest.fixture(scope="module")
def running_provider():
    with identity_provider() as running_provider:
        yield running_provider


@pytest.fixture
def provider(running_provider, settings, db):
    """Turn single sign-on on. The provider logs in Anna as an operator."""
    variables = {
        "OIDC_ISSUER": running_provider.issuer,
        "OIDC_CLIENT_ID": CLIENT_ID,
        "OIDC_CLIENT_SECRET": CLIENT_SECRET,
    }
    loaded = load_settings(SECRET_KEY="x", **variables)
    for name in ("AUTHENTICATION_BACKENDS", "AUTHLIB_OAUTH_CLIENTS", *variables):
        setattr(settings, name, loaded[name])
    settings.ROOT_URLCONF = __name__
    scale_time_limit(settings, 100)  # a slow machine does not reach it
    call_command("create_roles")
    single_sign_on.load_metadata.cache_clear()
    running_provider.reset()
    yield running_provider
    running_provider.reset()


def scale_time_limit(settings, factor):
    client = settings.AUTHLIB_OAUTH_CLIENTS["provider"]
    client["client_kwargs"]["default_timeout"] *= factor


def go_to_provider(client, next_page=""):
    """Start a sign-in and return the address to which the provider sends the
    browser back.
    """
    start = client.get(START, {"next": next_page})
    assert start.status_code == 302, start.content
    return httpx.get(start["Location"]).headers["Location"]


def come_back(client, address):
    """Open the address on the service."""
    parts = urlsplit(address)
    return client.get(f"{parts.path}?{parts.query}")


def sign_in(client, next_page=""):
    return come_back(client, go_to_provider(client, next_page))


def groups_of(user):
    return [group.name for group in user.groups.all()]


# The sign-in


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_an_operator_signs_in(client, provider, algorithm):
    provider.algorithm = algorithm

    response = sign_in(client, "/admin/usergroups/team/?q=a")

    assert response.status_code == 302
    assert response["Location"] == "/admin/usergroups/team/?q=a"
    assert client.get("/admin/usergroups/team/").status_code == 200
    assert client.get("/admin/usergroups/team/add/").status_code == 403
    lifetime = client.session.get_expiry_date() - timezone.now()
    assert timedelta(hours=7.9) < lifetime < timedelta(hours=8)


def test_the_scope_of_the_roles_is_requested_if_the_provider_has_it(client, provider):
    provider.metadata = {"scopes_supported": ["openid", "roles"]}

    query = parse_qs(urlsplit(client.get(START)["Location"]).query)
    assert query["scope"] == ["openid profile email roles"]


@pytest.mark.parametrize("page", ["https://evil.example/", "//evil.example/", "/docs/"])
def test_a_sign_in_with_a_next_page_outside_the_admin_ends_at_its_index(
    client, provider, page
):
    assert sign_in(client, page)["Location"] == "/admin/"


def test_a_state_is_valid_once_and_in_one_browser(client, provider):
    address = go_to_provider(client)
    assert come_back(Client(), address).status_code == 400
    assert come_back(client, address).status_code == 302
    assert come_back(client, address).status_code == 400
    assert client.get("/admin/").status_code == 200  # The operator stays signed in.


def test_a_visitor_who_does_not_sign_in_stores_nothing(client, provider, settings):
    settings.SESSION_COOKIE_SECURE = True

    cookie = client.get(START).cookies["sign_in"]
    come_back(client, f"{START}callback/?state=another&code=a")

    assert Session.objects.count() == 0
    # The cookie is for the pages of the sign-in and not for scripts.
    assert (cookie["path"], cookie["max-age"]) == (START, 600)
    assert cookie["samesite"] == "Lax"
    assert cookie["httponly"]
    assert cookie["secure"]


def test_a_sign_in_that_took_too_long_is_refused(client, provider, monkeypatch):
    address = go_to_provider(client)
    monkeypatch.setattr(single_sign_on, "MAX_WAIT", -1)

    assert come_back(client, address).status_code == 400


def test_a_refusal_of_the_provider_leads_to_an_error_page(client, provider):
    address = go_to_provider(client).replace("&code=", "&error=access_denied&a=")

    response = come_back(client, address)

    assert response.status_code == 403
    assert "The identity provider refused the sign-in." in response.content.decode()


INVALID = {
    "another algorithm, although the metadata allow it": {
        "algorithm": "RS512",
        "metadata": {"id_token_signing_alg_values_supported": ["RS512"]},
    },
    "another nonce": {"id_token": {"nonce": "another"}},
    "subjects that differ": {"id_token": {"sub": "another"}},
    "a subject that cannot be stored": {"userinfo": {**ANNA, "sub": "\ud800"}},
}
"""The attributes of the provider that make its responses invalid."""


@pytest.mark.parametrize("attributes", INVALID.values(), ids=INVALID)
def test_an_invalid_response_leads_to_an_error_page(client, provider, attributes):
    vars(provider).update(attributes)

    response = sign_in(client)

    assert response.status_code == 502
    assert "The identity provider did not respond" in response.content.decode()
    assert User.objects.count() == 0
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize(
    ("responses", "expected"),
    [
        ({}, (302, "")),
        ({"userinfo": (401, None)}, (502, "failed: HTTPError <Response [401]>")),
        ({"token": (400, {"error": "an-access-token"})}, (502, "failed: OAuthError")),
    ],
    ids=["success", "status", "error"],
)
def test_no_token_or_claim_is_in_a_session_or_logged(
    client, provider, caplog, responses, expected
):
    status, logged = expected
    caplog.set_level("INFO")
    provider.responses = responses

    assert sign_in(client).status_code == status
    assert logged in caplog.text
    stored = str([session.get_decoded() for session in Session.objects.all()])
    # The provider issues "an-access-token" and an ID token, which begins with
    # "eyJ".
    for secret in (CODE, CLIENT_SECRET, "an-access-token", "eyJ", *ANNA.values()):
        assert secret not in stored + caplog.text


def test_a_provider_that_does_not_respond_leads_to_an_error_page(
    client, provider, settings
):
    scale_time_limit(settings, 1 / 5000)  # to 0.1 seconds
    provider.released.clear()
    assert client.get(START).status_code == 502

    provider.reset()
    scale_time_limit(settings, 5000)
    assert client.get(START).status_code == 302


def test_few_threads_wait_for_the_provider(client, provider):
    with ExitStack() as four_sign_ins:
        for _ in range(4):
            four_sign_ins.enter_context(single_sign_on.PROVIDER_SLOTS)
        assert client.get(START).status_code == 502
        assert provider.requests == []

    assert client.get(START).status_code == 302


TRUSTED = {
    "issuer": "https://sso.example",
    "authorization_endpoint": "https://sso.example/authorize",
    "token_endpoint": "https://sso.example/token",
    "userinfo_endpoint": "https://sso.example/userinfo",
    "jwks_uri": "https://sso.example/keys",
}


def test_metadata_with_another_issuer_or_an_endpoint_without_tls_are_refused(
    client, provider, settings
):
    settings.OIDC_ISSUER = "https://sso.example"

    for name in TRUSTED:
        provider.metadata = {**TRUSTED, name: "http://sso.example"}
        assert client.get(START).status_code == 502, name
    provider.metadata = TRUSTED
    assert client.get(START).status_code == 302


def test_the_metadata_are_read_once_a_minute(client, provider, monkeypatch):
    now = SimpleNamespace(time=lambda: 0)
    monkeypatch.setattr(single_sign_on, "time", now)
    for _ in range(3):
        client.get(START)
    assert len(provider.requests) == 1

    now.time = lambda: 60
    client.get(START)
    assert len(provider.requests) == 2


# The account


def account_of(**claims):
    """Return the account of a person with these claims, or None."""
    return update_account({"iss": "https://sso.example", "sub": "4711", **claims})


@pytest.fixture
def roles(db):
    call_command("create_roles")


def test_an_account_has_the_claims_of_the_provider_and_no_password(roles):
    user = account_of(**ANNA, roles="Operators")

    assert groups_of(user) == ["Operators"]
    assert (user.get_full_name(), user.email) == ("Anna Schmidt", "anna@example.com")
    assert (user.is_staff, user.is_superuser) == (True, False)
    assert not user.has_usable_password()


def test_the_roles_are_exactly_those_of_the_claim(roles):
    account_of(roles=["Operators"]).groups.add(Group.objects.create(name="Auditors"))

    user = account_of(roles=["Managers", "Superusers", "unknown", 7, None])
    assert (groups_of(user), user.is_superuser) == (["Managers"], True)
    user = account_of(roles=["Operators"])
    assert (groups_of(user), user.is_superuser) == (["Operators"], False)


@pytest.mark.parametrize("claim", [[], None, {"Operators": 1}, ["operators"]], ids=repr)
def test_nobody_gets_an_account_without_a_role(roles, claim):
    assert account_of(roles=claim) is None
    assert User.objects.count() == 0


def test_accounts_are_identified_by_the_issuer_and_the_subject_only(roles):
    local = User.objects.create_superuser(ANNA["email"], ANNA["email"], "a-password")
    anna = account_of(**ANNA, roles=["Operators"])

    renamed = account_of(name="Anna Meyer", roles=["Operators"])
    another = account_of(**{**ANNA, "sub": "4712"}, roles=["Operators"])
    elsewhere = account_of(**ANNA, iss="https://other.example", roles=["Operators"])

    assert renamed == anna
    assert renamed.get_full_name() == "Anna Meyer"
    assert len({local, anna, another, elsewhere}) == 4
    local.refresh_from_db()
    assert local.is_superuser
    assert local.check_password("a-password")


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        # A first name has at most 150 characters.
        ({"name": "A\0b" + "c" * 200}, "Ab" + "c" * 148),
        ({"name": " ", "email": "a@b.example"}, "a@b.example"),
        ({"name": 7}, "4711"),
        ({"name": "An\ud800na"}, "Anna"),
    ],
    ids=["long", "empty", "number", "surrogate"],
)
def test_any_name_can_be_stored(roles, claims, name):
    assert account_of(**claims, roles="Operators").get_full_name() == name


def test_an_operator_who_loses_all_roles_loses_all_sessions(client, provider):
    sign_in(client)
    provider.userinfo["roles"] = []

    refused = sign_in(Client())

    assert refused.status_code == 403
    assert "You have no role in this service" in refused.content.decode()
    assert client.get("/admin/usergroups/team/").status_code == 302
    user = User.objects.get()
    assert (user.is_staff, user.is_superuser, user.groups.count()) == (False, False, 0)


def test_a_deactivated_account_stays_out(client, provider):
    sign_in(client)
    User.objects.update(is_active=False)

    assert sign_in(Client()).status_code == 403
    assert client.get("/admin/").status_code == 302


# The login page


def test_the_login_page_offers_single_sign_on_and_a_password(client, provider):
    page = client.get("/admin/login/?next=/admin/%3Fq%3Da%26b").content.decode()

    assert f'href="{START}?next=%2Fadmin%2F%3Fq%3Da%26b"' in page
    assert 'name="password"' in page
    assert "<h1>Log in</h1>" in page


def test_the_login_form_logs_nobody_in_without_a_password(client, provider):
    """RemoteUserBackend needs no password, but neither a header nor a parameter
    gives it the name of a user.
    """
    sign_in(client)
    username = User.objects.get().username
    visitor = Client(REMOTE_USER=username, headers={"Remote-User": username})

    form = {"username": username, "password": "!", "remote_user": username}
    query = f"code={CODE}&state=a&remote_user={username}"
    response = visitor.post(f"/admin/login/?{query}", form)

    assert response.status_code == 200
    assert "_auth_user_id" not in visitor.session


def test_passwords_can_be_switched_off(client, admin_client, provider, settings):
    settings.PASSWORD_LOGIN = False
    settings.AUTHENTICATION_BACKENDS.remove("django.contrib.auth.backends.ModelBackend")

    page = client.get("/admin/login/").content.decode()
    assert "Sign in with single sign-on" in page
    assert 'name="password"' not in page
    form = {"username": "admin", "password": "password"}
    assert client.post("/admin/login/", form).status_code == 404
    assert AccessAttempt.objects.count() == 0
    # The sessions of passwords have ended.
    assert admin_client.get("/admin/").status_code == 302
    assert sign_in(client).status_code == 302
    assert client.get("/admin/password_change/").status_code == 404
    assert "password_change" not in client.get("/admin/").content.decode()
