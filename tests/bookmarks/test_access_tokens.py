"""The operations on the access tokens of a user group."""

from datetime import datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from bookmarks.models import AccessToken
from tests.answers import errors, time_json
from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller
from tests.usergroups.factories import store_tokens
from usergroups.tokens import secret_format


def access_token_json(token):
    return {
        "id": secret_format.digest(token.secret).hex(),
        "name": token.name,
        "hint": token.hint,
        "read_only": token.read_only,
        "created_at": time_json(token.created_at),
        "expires_at": token.expires_at and time_json(token.expires_at),
        "revoked_at": token.revoked_at and time_json(token.revoked_at),
        "last_used_at": token.last_used_at and time_json(token.last_used_at),
    }


@pytest.fixture
def issue(api_client, api_token, user_group):
    """Return a function that issues an access token of ``user_group``.

    Its arguments are further fields of the body.
    """
    call = Caller(
        api_client, "POST", reverse("access_tokens:access-tokens"), "Token", api_token
    )
    return lambda **fields: call({"user_group_id": user_group.provided_id, **fields})


@pytest.fixture
def list_tokens(api_client, api_token, user_group):
    def call(**query):
        query = urlencode({"user_group_id": user_group.provided_id, **query})
        return Caller(
            api_client,
            "GET",
            f"{reverse('access_tokens:access-tokens')}?{query}",
            "Token",
            api_token,
        )()

    return call


@pytest.fixture
def revoke(api_client, api_token):
    return lambda public_id: Caller(
        api_client,
        "DELETE",
        reverse("access_tokens:access-token", args=[public_id]),
        "Token",
        api_token,
    )()


# POST api/user/access-tokens


def test_an_issued_token_authenticates_its_group(issue, api_client, user_group):
    response = issue()

    assert response.status_code == 201
    issued = response.json()["access_token"]
    token = AccessToken.objects.get()
    token.secret = issued["secret"]  # The model does not store it.
    assert issued == {**access_token_json(token), "secret": issued["secret"]}
    assert (token.user_group, token.name, token.read_only, token.expires_at) == (
        user_group,
        "",
        False,
        None,
    )
    created = Caller(
        api_client, "POST", reverse("bookmarks:bookmarks"), "Bearer", token
    )({"url": "https://example.com/"})
    assert created.status_code == 201


def test_the_location_lists_the_new_token(issue, api_client, api_token):
    response = issue()

    listed = api_client.get(
        response["Location"], HTTP_AUTHORIZATION=f"Token {api_token.secret}"
    ).json()["access_tokens"]
    assert [token["id"] for token in listed] == [response.json()["access_token"]["id"]]


def test_a_token_has_the_given_name_rights_and_lifetime(issue):
    before = timezone.now()

    issued = issue(name=" Extension ", read_only=True, expires_in=60).json()[
        "access_token"
    ]

    assert (issued["name"], issued["read_only"]) == (" Extension ", True)
    assert (
        before
        <= datetime.fromisoformat(issued["expires_at"]) - timedelta(seconds=60)
        <= timezone.now()
    )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"user_group_id": None}, ("user_group_id", "null")),
        ({"name": None}, ("name", "null")),
        ({"name": 1}, ("name", "invalid")),
        ({"name": "a" * 256}, ("name", "max_length")),
        ({"read_only": "true"}, ("read_only", "invalid")),
        ({"read_only": 1}, ("read_only", "invalid")),
        ({"read_only": None}, ("read_only", "null")),
        ({"read_only": {}}, ("read_only", "invalid")),
        ({"expires_in": 0}, ("expires_in", "min_value")),
        ({"expires_in": -1}, ("expires_in", "min_value")),
        ({"expires_in": 10**10}, ("expires_in", "max_value")),
        ({"expires_in": 10**300}, ("expires_in", "max_value")),
        ({"expires_in": "60"}, ("expires_in", "invalid")),
        ({"expires_in": 60.0}, ("expires_in", "invalid")),
        ({"expires_in": True}, ("expires_in", "invalid")),
        ({"expires_in": None}, ("expires_in", "null")),
    ],
)
def test_invalid_fields_are_refused(issue, fields, problem):
    assert errors(issue(**fields)) == [problem]
    assert not AccessToken.objects.exists()


def test_a_group_has_a_limited_number_of_active_tokens(issue, user_group):
    store_tokens(AccessToken, 998, user_group=user_group, **user_group.scope)
    AccessTokenFactory(user_group=user_group, expired=True)
    AccessTokenFactory(user_group=user_group, revoked=True)
    AccessTokenFactory(user_group=user_group, expiring=True)
    AccessTokenFactory()  # of another group

    last = issue()
    too_many = issue()

    assert last.status_code == 201
    assert errors(too_many, 409) == [(None, "too_many_tokens")]
    assert AccessToken.objects.active().filter(user_group=user_group).count() == 1_000


def test_a_token_can_be_issued_after_another_one_is_revoked(issue, revoke, user_group):
    store_tokens(AccessToken, 999, user_group=user_group, **user_group.scope)
    token = AccessTokenFactory(user_group=user_group)
    assert issue().status_code == 409

    revoke(token.public_id)

    assert issue().status_code == 201


# GET api/user/access-tokens


def test_tokens_are_listed_without_their_secrets(list_tokens, user_group):
    tokens = [
        AccessTokenFactory(user_group=user_group, name="First"),
        AccessTokenFactory(user_group=user_group, read_only=True, recently_used=True),
        AccessTokenFactory(user_group=user_group, expired=True),
        AccessTokenFactory(user_group=user_group, revoked=True),
    ]
    AccessTokenFactory()  # of another group

    response = list_tokens()

    assert response.json() == {
        "success": 1,
        "next": None,
        "previous": None,
        "access_tokens": [access_token_json(token) for token in reversed(tokens)],
    }
    assert not [token for token in tokens if token.secret in response.content.decode()]


# DELETE api/user/access-tokens/{id}


def test_a_revoked_token_is_refused_and_stays_in_the_list(
    revoke, list_tokens, api_client, user_group
):
    token = AccessTokenFactory(user_group=user_group, recently_used=True)
    read = Caller(api_client, "GET", reverse("bookmarks:bookmarks"), "Bearer", token)
    assert read().status_code == 200

    response = revoke(token.public_id)

    assert (response.status_code, response.json()) == (200, {"success": 1})
    assert read().status_code == 401
    assert list_tokens().json()["access_tokens"][0]["revoked_at"] is not None


@pytest.mark.parametrize(
    "public_id", ["x", "ab", "a" * 65, "00" * 32, "\N{GRINNING FACE}", "%00"]
)
def test_an_unknown_or_malformed_id_of_a_token_is_not_found(revoke, public_id):
    assert errors(revoke(public_id), 404) == [(None, "access_token_not_found")]
