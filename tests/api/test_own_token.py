"""The operations by which a token describes and rotates itself."""

from datetime import datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from bookmarks.models import AccessToken
from tests.answers import detail, error_code, errors, time_json, user_group_json
from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory, store_tokens
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture(params=[ApiToken, AccessToken], ids=["API token", "access token"])
def issue(request, user_group):
    """Return a function that issues a token of a kind.

    The test runs for each of both kinds.
    """
    if request.param is ApiToken:
        return lambda **fields: ApiTokenFactory(team=user_group.team, **fields)
    return lambda **fields: AccessTokenFactory(user_group=user_group, **fields)


@pytest.fixture
def call(api_client):
    """Return a function that returns a caller of an operation with a token.

    ``url_name`` is "token" or "token-rotate".
    """

    def call(method, url_name, token):
        app, scheme = "bookmarks", "Bearer"
        if isinstance(token, ApiToken):
            app, scheme = "usergroups", "Token"
        url = reverse(f"{app}:{url_name}")
        return Caller(api_client, method, url, scheme, token)

    return call


@pytest.fixture
def describe(call):
    return lambda token: call("GET", "token", token)()


@pytest.fixture
def rotation(call):
    """Return a function that returns a caller of the rotation of a token."""
    return lambda token: call("POST", "token-rotate", token)


@pytest.fixture
def rotate(rotation):
    return lambda token, **fields: rotation(token)(fields)


def successor_of(token, response):
    """Return the stored successor with the secret in the response."""
    assert response.status_code == 201
    issued = response.json()["token"]
    successor = type(token).objects.with_secret(issued["secret"])
    successor.secret = issued["secret"]
    assert issued == {**token_json(successor), "secret": successor.secret}
    return successor


def token_json(token):
    tokens = type(token).objects
    predecessor = tokens.filter(pk=token.predecessor_id).first()
    successor = tokens.filter(predecessor_id=token.pk).last()
    return {
        "id": token.public_id,
        "name": token.name,
        "hint": token.hint,
        "read_only": token.read_only,
        "expires_at": token.expires_at and time_json(token.expires_at),
        "created_at": time_json(token.created_at),
        "rotated_at": token.rotated_at and time_json(token.rotated_at),
        "predecessor": predecessor and predecessor.public_id,
        "successor": successor and successor.public_id,
    }


# Description


def test_an_api_token_describes_itself_its_team_and_its_environment(describe):
    group = UserGroupFactory(environment="Testing")
    tokens = [
        ApiTokenFactory(team=group.team, name="CI", read_only=True, expiring=True),
        ApiTokenFactory(team=group.team, environment="Testing"),
    ]

    answers = [describe(token).json() for token in tokens]

    assert answers == [
        {
            "success": 1,
            "token": token_json(token),
            "team_id": group.team_id,
            "api_environment_tag": environment,
        }
        for token, environment in zip(tokens, [None, "Testing"], strict=True)
    ]


def test_an_access_token_describes_itself_and_its_group(describe, user_group):
    user_group.properties = {"plan": "pro"}
    user_group.save()
    token = AccessTokenFactory(user_group=user_group, name="Phone", read_only=True)

    assert describe(token).json() == {
        "success": 1,
        "token": token_json(token),
        "user_group": user_group_json(user_group),
    }


# Rotation


def test_without_a_grace_period_the_old_token_stops_at_once(rotate, describe, issue):
    token = issue(name="CI", expires_at=timezone.now() + DAY)

    response = rotate(token)

    successor = successor_of(token, response)
    app = "usergroups" if isinstance(token, ApiToken) else "bookmarks"
    assert response["Location"] == reverse(f"{app}:token")
    assert (successor.name, successor.owner) == ("CI", token.owner)
    lifetime = token.expires_at - token.created_at
    assert successor.expires_at - successor.created_at == lifetime
    assert error_code(describe(token), 401) == "authentication_failed"
    assert error_code(rotate(token), 401) == "authentication_failed"
    assert describe(successor).json()["token"] == token_json(successor)


@pytest.mark.parametrize("content_type", [None, "application/json"])
def test_a_rotation_needs_no_body(rotation, issue, content_type):
    token = issue()

    response = rotation(token)(CONTENT_TYPE=content_type)

    successor_of(token, response)


def test_a_rotation_with_a_body_needs_a_content_type(rotation, issue):
    refused = rotation(issue())(b"{}", CONTENT_TYPE="")

    assert errors(refused, 415) == [(None, "unsupported_media_type")]
    assert detail(refused) == "The request has no Content-Type."


def test_during_the_grace_period_both_tokens_work(rotate, describe, issue):
    token = issue()
    before = timezone.now()

    successor = successor_of(token, rotate(token, grace=60))

    old = describe(token).json()["token"]
    assert old["rotated_at"] == time_json(successor.created_at)
    remaining = datetime.fromisoformat(old["expires_at"]) - before
    assert timedelta(seconds=60) <= remaining < timedelta(seconds=120)
    assert describe(successor).json()["token"]["rotated_at"] is None


def test_a_grace_period_does_not_outlast_the_expiry(rotate, describe, issue):
    token = issue(expires_at=timezone.now() + DAY)

    rotate(token, grace=30 * 24 * 60 * 60)

    assert describe(token).json()["token"]["expires_at"] == time_json(token.expires_at)


def test_a_rotation_whose_response_was_lost_can_be_repeated(rotate, describe, issue):
    token = issue(name="CI", expires_at=timezone.now() + DAY)
    lost = successor_of(token, rotate(token, grace=60))

    successor = successor_of(token, rotate(token, grace=60))

    assert error_code(describe(lost), 401) == "authentication_failed"
    lifetime = token.expires_at - token.created_at
    assert successor.expires_at - successor.created_at == lifetime
    assert (successor.name, successor.rotated_at) == ("CI", None)
    described = describe(token).json()["token"]
    assert described["successor"] == successor.public_id
    assert describe(successor).json()["token"]["predecessor"] == token.public_id


def test_a_token_is_not_rotated_again_after_its_successor_was_used(
    rotate, describe, issue
):
    token = issue()
    successor = successor_of(token, rotate(token, grace=60))
    assert describe(successor).status_code == 200

    again = rotate(token, grace=60)

    assert errors(again, 409) == [(None, "already_rotated")]
    assert rotate(successor).status_code == 201


def test_a_token_is_not_rotated_again_after_its_successor_was_revoked(rotate, issue):
    token = issue()
    successor_of(token, rotate(token, grace=60)).revoke()

    assert errors(rotate(token), 409) == [(None, "already_rotated")]


def store_tokens_of_owner(token, number):
    """Store more tokens of the owner of this one."""
    owner = {token.owner_field: token.owner}
    # An access token has the scope of its user group.
    scope = getattr(token.owner, "scope", {})
    store_tokens(type(token), number, **owner, **scope)


def test_at_the_limit_a_rotated_token_is_told_that_it_is_rotated(
    rotate, describe, issue
):
    token = issue()
    describe(successor_of(token, rotate(token, grace=60)))
    store_tokens_of_owner(token, 998)

    assert errors(rotate(token, grace=60), 409) == [(None, "already_rotated")]


@pytest.mark.parametrize(
    ("grace", "code"),
    [
        (-1, "min_value"),
        (30 * 24 * 60 * 60 + 1, "max_value"),
        ("60", "invalid"),
        (60.0, "invalid"),
        (True, "invalid"),
        (None, "null"),
    ],
)
def test_an_invalid_grace_period_is_refused(rotate, describe, issue, grace, code):
    token = issue()

    assert errors(rotate(token, grace=grace)) == [("grace", code)]
    assert describe(token).json()["token"] == token_json(token)


def test_at_the_limit_of_active_tokens_a_rotation_has_no_grace_period(rotate, issue):
    token = issue()
    store_tokens_of_owner(token, 999)

    refused = rotate(token, grace=1)
    rotated = rotate(token, grace=0)

    assert errors(refused, 409) == [(None, "too_many_tokens")]
    successor_of(token, rotated)
    assert type(token).objects.active().count() == 1_000


def test_calls_are_counted_along_the_chain_of_rotations(
    rotate, describe, issue, settings
):
    settings.USERGROUPS_CALL_RATE = "5/min"
    token = issue()

    second = successor_of(token, rotate(token, grace=60))
    third = successor_of(second, rotate(second, grace=60))
    calls = [describe(each) for each in (third, token, second, third)]

    assert [call.status_code for call in calls] == [200, 200, 200, 429]
    assert describe(issue()).status_code == 200


def test_a_token_and_its_successors_are_rotated_ten_times_an_hour(rotate, issue):
    token = issue()
    for _ in range(10):
        token = successor_of(token, rotate(token))

    refused = rotate(token)
    other = rotate(issue())
    an_hour_ago = timezone.now() - timedelta(hours=1)
    oldest = type(token).objects.filter(first_id=token.first_id).earliest("created_at")
    type(token).objects.filter(pk=oldest.pk).update(created_at=an_hour_ago)

    assert error_code(refused, 429) == "throttled"
    assert 3500 < int(refused["Retry-After"]) <= 3600
    assert other.status_code == 201
    assert rotate(token).status_code == 201
