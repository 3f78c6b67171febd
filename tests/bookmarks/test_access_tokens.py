"""The operations on access tokens that take an API token."""

from contextlib import suppress
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from bookmarks.models import AccessToken
from tests.answers import changes, errors, time_json
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.queries import committed_after_wait, concurrently, deadlock
from tests.usergroups.factories import UserGroupFactory, store_tokens
from usergroups.api import pagination
from usergroups.models import UserGroup
from usergroups.tokens import secret_format
from usergroups.tokens.models import TooManyTokens

DAY = timedelta(days=1)

LOCK = (
    'SELECT "usergroups_usergroup"."id", "usergroups_usergroup"."team_id", '
    '"usergroups_usergroup"."environment" FROM'
)
"""The beginning of the statement that locks the owner of a new token."""


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
        "rotated_at": None,
        "predecessor": None,
        "successor": None,
    }


@pytest.fixture
def issue(call_access_tokens, user_group):
    """Return a function that issues an access token of ``user_group``.

    Its arguments are further fields of the body.
    """
    owner = {"user_group_id": user_group.provided_id}
    return lambda **fields: call_access_tokens(
        "POST", "access-tokens", body={**owner, **fields}
    )


@pytest.fixture
def list_tokens(call_access_tokens, user_group):
    owner = {"user_group_id": user_group.provided_id}
    return lambda **query: call_access_tokens(
        "GET", "access-tokens", query={**owner, **query}
    )


@pytest.fixture
def revoke(call_access_tokens):
    return lambda public_id, **query: call_access_tokens(
        "DELETE", "access-token", public_id, query=query
    )


# POST api/user/access-tokens


def test_an_issued_token_authenticates_its_group(issue, call_bookmarks, user_group):
    response = issue()

    assert response.status_code == 201
    query = urlencode({"user_group_id": user_group.provided_id})
    assert response["Location"] == f"{reverse('access_tokens:access-tokens')}?{query}"
    issued = response.json()["access_token"]
    token = AccessToken.objects.get(digest=bytes.fromhex(issued["id"]))
    token.secret = issued["secret"]  # The model does not store it.
    assert issued == {**access_token_json(token), "secret": issued["secret"]}
    assert (token.user_group, token.read_only, token.expires_at) == (
        user_group,
        False,
        None,
    )
    body = {"url": "https://example.com/"}
    created = call_bookmarks("POST", "bookmarks", body=body, token=token)
    assert created.status_code == 201


def test_tokens_are_listed_of_the_named_group_only(call_access_tokens, user_group):
    AccessTokenFactory(user_group=user_group)
    named = UserGroupFactory(team=user_group.team)
    token = AccessTokenFactory(user_group=named)

    page = call_access_tokens(
        "GET", "access-tokens", query={"user_group_id": named.provided_id}
    )

    listed = [each["id"] for each in page.json()["access_tokens"]]
    assert listed == [token.public_id]


def test_a_token_has_the_given_name_rights_and_lifetime(issue):
    answer = issue(name=" Extension ", read_only=True, expires_in=60)

    issued = answer.json()["access_token"]
    assert (issued["name"], issued["read_only"]) == (" Extension ", True)
    created_at = datetime.fromisoformat(issued["created_at"])
    expires_at = datetime.fromisoformat(issued["expires_at"])
    assert expires_at - created_at == timedelta(seconds=60)


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


def test_the_scope_of_a_token_is_that_of_its_stored_group(user_group):
    UserGroup.objects.filter(pk=user_group.pk).update(environment="Testing")

    [issued] = AccessToken.objects.issue_for_each([user_group])

    token = AccessToken.objects.get(pk=issued[0].pk)
    assert (token.team, token.environment) == (user_group.team, "Testing")


WAYS_TO_ISSUE = {
    "issue": lambda group: AccessToken.objects.issue(user_group=group),
    "issue_for_each": lambda group: AccessToken.objects.issue_for_each([group]),
    "rotate": lambda group: group.access_tokens.all().rotate(timedelta(hours=1)),
}
each_way = pytest.mark.parametrize("way", WAYS_TO_ISSUE.values(), ids=WAYS_TO_ISSUE)


@each_way
@pytest.mark.django_db(transaction=True)
def test_concurrent_transactions_do_not_exceed_the_maximum(way, user_group):
    store_tokens(AccessToken, 999, user_group=user_group, **user_group.scope)

    with (
        committed_after_wait(lambda: AccessToken.objects.issue(user_group=user_group)),
        suppress(TooManyTokens),
    ):
        way(user_group)

    assert AccessToken.objects.active().count() == 1_000


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
        "next_cursor": None,
        "access_tokens": [access_token_json(token) for token in reversed(tokens)],
    }
    assert not [token for token in tokens if token.secret in response.content.decode()]


# DELETE api/user/access-tokens/{id}


def test_a_revoked_token_is_refused_and_stays_in_the_list(
    revoke, list_tokens, call_bookmarks, user_group
):
    token = AccessTokenFactory(user_group=user_group, recently_used=True)

    def read():
        return call_bookmarks("GET", "bookmarks", token=token).status_code

    assert read() == 200

    response = revoke(token.public_id)

    answer = {"success": 1, "revoked": [token.public_id], "successor": None}
    assert (response.status_code, response.json()) == (200, answer)
    assert read() == 401
    listed = list_tokens(order="oldest").json()["access_tokens"]
    [shown] = [each for each in listed if each["id"] == token.public_id]
    assert shown["revoked_at"] is not None


@pytest.mark.parametrize(
    "public_id", ["x", "ab", "a" * 65, "00" * 32, "\N{GRINNING FACE}", "%00"]
)
def test_an_unknown_or_malformed_id_of_a_token_is_not_found(revoke, public_id):
    assert errors(revoke(public_id), 404) == [(None, "access_token_not_found")]


@pytest.fixture
def chain(user_group):
    """Four tokens, each the successor of the one before, of which the second
    has expired. The response to the first rotation was lost, so that the first
    successor is revoked and not among them.
    """
    first = AccessTokenFactory(user_group=user_group)
    first.rotate(DAY)
    second, _ = first.rotate(DAY, limited=True)
    third, _ = second.rotate(timedelta(0))
    fourth, _ = third.rotate(DAY)
    return [first, second, third, fourth]


def test_a_revocation_leaves_and_names_the_successor(revoke, chain):
    response = revoke(chain[0].public_id)

    assert response.json() == {
        "success": 1,
        "revoked": [chain[0].public_id],
        "successor": chain[3].public_id,
    }
    active = set(AccessToken.objects.active())
    assert active == {chain[2], chain[3]}


def test_all_successors_of_a_leaked_token_are_revoked(revoke, list_tokens, chain):
    kept = AccessTokenFactory(user_group=chain[0].user_group)

    response = revoke(chain[1].public_id, successors="true")

    revoked = [token.public_id for token in chain[1:]]
    answer = {"success": 1, "revoked": revoked, "successor": None}
    assert response.json() == answer
    assert set(AccessToken.objects.active()) == {kept, chain[0]}
    lineage = [
        (each["id"], each["predecessor"], each["successor"])
        for each in list_tokens(order="oldest").json()["access_tokens"]
        if each["id"] in revoked
    ]
    ids = [token.public_id for token in chain]
    assert lineage == list(zip(ids[1:], ids[:-1], [*ids[2:], None], strict=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("grace", [timedelta(0), DAY])
def test_a_successor_that_is_issued_meanwhile_is_revoked(revoke, user_group, grace):
    token = AccessTokenFactory(user_group=user_group)

    with committed_after_wait(lambda: token.rotate(grace)):
        response = revoke(token.public_id, successors="true")

    assert len(response.json()["revoked"]) == 2
    assert not AccessToken.objects.active().exists()


@pytest.mark.django_db(transaction=True)
def test_a_token_that_is_revoked_meanwhile_gets_no_successor(user_group):
    token = AccessTokenFactory(user_group=user_group)

    with (
        committed_after_wait(lambda: token.revoke(successors=True)),
        pytest.raises(AccessToken.DoesNotExist),
    ):
        token.rotate(DAY)

    assert not AccessToken.objects.active().exists()


@pytest.mark.django_db(transaction=True)
def test_a_revocation_is_retried_after_a_deadlock(revoke, user_group):
    """Another transaction locks the user group, as its deletion does, and then
    the token.
    """
    token = AccessTokenFactory(user_group=user_group)

    def lock_token(using):
        list(AccessToken.objects.using(using).select_for_update())

    locked = UserGroup.objects.select_for_update()
    with deadlock(
        'SELECT "bookmarks_accesstoken"', locked, lock_token, 'accesstoken"'
    ) as selects:
        response = revoke(token.public_id)

    assert response.status_code == 200
    assert len(selects) == 2
    token.refresh_from_db()
    assert token.revoked_at is not None


# POST api/user/access-tokens/batch


@pytest.fixture
def issue_many(call_access_tokens):
    """Return a function that issues an access token for each of these ids of
    user groups.

    Its other arguments are further fields of the body.
    """
    return lambda *ids, **fields: call_access_tokens(
        "POST", "access-tokens-batch", body={"user_group_ids": ids, **fields}
    )


def outcomes(response):
    """Return the status of each result, and the code of its error, if any."""
    assert response.status_code == 200
    return [
        (result["status"], *(error["code"] for error in result.get("errors", [])))
        for result in response.json()["results"]
    ]


def test_each_group_gets_its_own_token(issue_many, call_bookmarks, user_group):
    other = UserGroupFactory(team=user_group.team)
    BookmarkFactory(user_group=other)
    ids = [user_group.provided_id, other.provided_id]

    response = issue_many(*ids, name="Extension", read_only=True, expires_in=60)

    assert outcomes(response) == [(201,), (201,)]
    tokens = AccessToken.objects.in_bulk(field_name="digest").values()
    by_id = {token.public_id: token for token in tokens}
    listed = []
    for result in response.json()["results"]:
        issued = result["access_token"]
        token = by_id[issued["id"]]
        token.secret = issued["secret"]  # The model does not store it.
        assert issued == {**access_token_json(token), "secret": token.secret}
        assert (token.name, token.read_only) == ("Extension", True)
        assert token.expires_at - token.created_at == timedelta(seconds=60)
        page = call_bookmarks("GET", "bookmarks", token=token).json()
        listed.append((token.user_group, len(page["bookmarks"])))
    assert listed == [(user_group, 0), (other, 1)]


def test_each_group_of_a_batch_has_its_own_result(issue_many, user_group):
    own = user_group.provided_id
    not_found = (404, "user_group_not_found")
    testing = UserGroupFactory(team=user_group.team, environment="Testing")
    expected = [
        ("unknown", not_found),
        (own, (201,)),
        (UserGroupFactory().provided_id, not_found),  # of another team
        (testing.provided_id, not_found),
        (1, (400, "invalid")),
        ("", (400, "blank")),
        ("a" * 256, (400, "max_length")),
        (own, (201,)),
    ]

    response = issue_many(*[provided_id for provided_id, _ in expected])

    assert outcomes(response) == [outcome for _, outcome in expected]
    assert {token.user_group for token in AccessToken.objects.all()} == {user_group}


def test_a_batch_counts_the_tokens_that_it_issues(issue_many, user_group):
    store_tokens(AccessToken, 997, user_group=user_group, **user_group.scope)
    AccessTokenFactory(user_group=user_group, expired=True)
    AccessTokenFactory(user_group=user_group, revoked=True)
    AccessTokenFactory(user_group=user_group, expiring=True)
    other = UserGroupFactory(team=user_group.team)

    response = issue_many(*[user_group.provided_id] * 3, other.provided_id)

    assert outcomes(response) == [(201,), (201,), (409, "too_many_tokens"), (201,)]
    assert changes(response) == [True, True, False, True]
    active = AccessToken.objects.active()
    assert active.filter(user_group=user_group).count() == 1_000


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": 1}, ("name", "invalid")),
        ({"read_only": "true"}, ("read_only", "invalid")),
        ({"expires_in": 0}, ("expires_in", "min_value")),
    ],
)
def test_an_invalid_field_refuses_the_batch(issue_many, user_group, fields, problem):
    assert errors(issue_many(user_group.provided_id, **fields)) == [problem]
    assert not AccessToken.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_group_that_is_deleted_during_a_batch_is_not_found(issue_many, user_group):
    deleted = UserGroupFactory(team=user_group.team)

    with concurrently(LOCK, deleted.delete):
        response = issue_many(user_group.provided_id, deleted.provided_id)

    assert outcomes(response) == [(201,), (404, "user_group_not_found")]
    assert AccessToken.objects.count() == 1


# POST api/user/access-tokens/batch/revoke


def test_tokens_are_revoked_each_with_its_own_result(call_access_tokens, user_group):
    token, other, kept = AccessTokenFactory.create_batch(3, user_group=user_group)
    revoked = AccessTokenFactory(user_group=user_group, revoked=True)
    of_another_team = AccessTokenFactory()
    testing = UserGroupFactory(team=user_group.team, environment="Testing")
    in_testing = AccessTokenFactory(user_group=testing)
    not_found = (404, "access_token_not_found")
    expected = [
        (token.public_id, (200,), True),
        (of_another_team.public_id, not_found, False),
        (other.public_id, (200,), True),
        (token.public_id, (200,), False),  # listed twice
        (revoked.public_id, (200,), False),  # revoked before
        (in_testing.public_id, not_found, False),
        ("unknown", not_found, False),
        (1, (400, "invalid"), False),
    ]
    ids = [public_id for public_id, _, _ in expected]

    response = call_access_tokens(
        "POST", "access-tokens-batch-revoke", body={"ids": ids}
    )

    assert outcomes(response) == [outcome for _, outcome, _ in expected]
    assert changes(response) == [is_changed for _, _, is_changed in expected]
    active = {kept, of_another_team, in_testing}
    assert set(AccessToken.objects.filter(revoked_at=None)) == active
    time_of_revocation = revoked.revoked_at
    revoked.refresh_from_db()
    assert revoked.revoked_at == time_of_revocation


def test_a_batch_names_each_revoked_successor_once(call_access_tokens, chain):
    other = AccessTokenFactory(user_group=chain[0].user_group)
    ids = [each.public_id for each in (chain[0], chain[2], other, chain[0])]

    response = call_access_tokens(
        "POST", "access-tokens-batch-revoke", body={"ids": ids, "successors": True}
    )

    revoked = [result["revoked"] for result in response.json()["results"]]
    first, second, third, fourth = (token.public_id for token in chain)
    assert revoked == [[first, second], [third, fourth], [other.public_id], []]


# GET api/access-tokens


@pytest.fixture
def list_all(call_access_tokens):
    """Return a function that lists the access tokens of all groups."""
    return lambda **query: call_access_tokens("GET", "team-access-tokens", query=query)


def test_the_tokens_of_all_groups_are_listed_with_their_groups(list_all, user_group):
    other = UserGroupFactory(team=user_group.team)
    testing = UserGroupFactory(team=user_group.team, environment="Testing")
    tokens = [
        AccessTokenFactory(user_group=user_group),
        AccessTokenFactory(user_group=other, expired=True),
        AccessTokenFactory(user_group=user_group, revoked=True),
    ]
    AccessTokenFactory(user_group=testing)
    AccessTokenFactory()  # of another team

    response = list_all()

    assert response.json()["access_tokens"] == [
        {**access_token_json(token), "user_group_id": token.user_group.provided_id}
        for token in reversed(tokens)
    ]
    assert not [token for token in tokens if token.secret in response.content.decode()]


def test_tokens_are_found_by_their_expiry(list_all, user_group, monkeypatch):
    monkeypatch.setattr(pagination, "MAX_SCANNED", 2)
    expired = AccessTokenFactory(user_group=user_group, expired=True)
    soon = AccessTokenFactory(user_group=user_group, expiring=True)
    later = timezone.now() + timedelta(days=2)
    AccessTokenFactory(user_group=user_group, expires_at=later)
    AccessTokenFactory(user_group=user_group)

    first = list_all(expires_before=later.isoformat()).json()
    cursor = dict(parse_qsl(urlsplit(first["next"]).query))["cursor"]
    second = list_all(expires_before=later.isoformat(), cursor=cursor).json()

    # The first page searches only the newest two tokens.
    assert first["access_tokens"] == []
    found = [token["id"] for token in second["access_tokens"]]
    assert found == [soon.public_id, expired.public_id]
    assert second["next"] is None
