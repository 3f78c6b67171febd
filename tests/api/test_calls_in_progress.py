"""The calls in progress of one owner are limited, before their bodies are
read.
"""

from contextlib import ExitStack
from io import BytesIO
from threading import Event, Thread

import pytest
from django.db import DatabaseError, connection, connections

from tests.answers import error_code
from tests.calls_in_progress import begin_call
from tests.operations import COSTLY, ONE_OF_EACH_SCHEME, caller
from tests.servers import TIMEOUT, wait_until
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.api import throttling
from usergroups.api.throttling import (
    ANY_CALLS,
    COSTLY_CALLS,
    MAX_WAITING,
    ConcurrencyLimit,
    TooManyCalls,
)
from usergroups.models import UserGroup

pytestmark = pytest.mark.database_independent

LARGE = 64 * 1024  # bytes; a larger body makes any call costly


@pytest.fixture
def in_progress():
    """Return a function that begins calls of an owner, which end with the
    test.
    """
    with ExitStack() as calls:

        def begin(limit, owner, number):
            for _ in range(number):
                begin_call(calls, limit, owner)

        yield begin
    assert not ANY_CALLS._calls
    assert not COSTLY_CALLS._calls


def owner_of(call):
    return call.token.owner_key


def team_of(call):
    return call.token.team_id


class Unread(BytesIO):
    """The body of a request, which must not be read."""

    def read(self, size=-1):
        raise AssertionError("The body was read.")


def is_throttled(response):
    """Return whether a response is that to one call too many, and check its
    headers.
    """
    if response.status_code != 429:
        return False
    assert error_code(response, 429) == "throttled"
    assert 1 <= int(response["Retry-After"]) <= 5
    return True


def test_an_owner_has_at_most_six_calls_in_progress(any_operation, in_progress):
    in_progress(ANY_CALLS, owner_of(any_operation), 5)
    # An invalid body, so that no call changes the token.
    assert not is_throttled(any_operation(b"{"))

    in_progress(ANY_CALLS, owner_of(any_operation), 1)
    assert is_throttled(any_operation(b"", **{"wsgi.input": Unread()}))


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_calls_of_other_owners_go_on(any_operation, in_progress):
    for other in UserGroupFactory.create_batch(2):
        in_progress(ANY_CALLS, other, 6)
        in_progress(ANY_CALLS, other.team, 6)

    assert not is_throttled(any_operation())


@pytest.mark.parametrize("any_operation", COSTLY, indirect=True)
def test_a_team_has_at_most_three_costly_calls(any_operation, in_progress):
    call = any_operation
    in_progress(COSTLY_CALLS, team_of(call), 2)
    assert not is_throttled(call())

    in_progress(COSTLY_CALLS, team_of(call), 1)
    assert is_throttled(call(b"", **{"wsgi.input": Unread()}))


def test_the_other_calls_are_not_costly(any_operation, in_progress):
    in_progress(COSTLY_CALLS, team_of(any_operation), 3)

    assert is_throttled(any_operation()) == any_operation.operation.is_costly


def test_all_teams_have_at_most_six_costly_calls(api_client, user_group, in_progress):
    call = caller(api_client, user_group, "create_bookmarks")
    for team in range(-5, 0):
        in_progress(COSTLY_CALLS, team, 1)
    assert not is_throttled(call({"bookmarks": []}))

    in_progress(COSTLY_CALLS, -6, 1)
    assert is_throttled(call({"bookmarks": []}))


def test_the_last_place_for_a_costly_call_is_for_a_team_that_has_none(
    api_client, user_group, in_progress
):
    call = caller(api_client, user_group, "create_bookmarks")
    in_progress(COSTLY_CALLS, -1, 3)
    in_progress(COSTLY_CALLS, -2, 2)
    with pytest.raises(TooManyCalls):
        COSTLY_CALLS.begin(-2)

    assert not is_throttled(call({"bookmarks": []}))


def test_the_costly_calls_of_user_groups_count_for_their_team(
    api_client, user_group, in_progress
):
    sibling = UserGroupFactory(team=user_group.team)
    in_progress(COSTLY_CALLS, user_group.team_id, 3)

    assert is_throttled(caller(api_client, sibling, "create_bookmarks")())
    assert is_throttled(caller(api_client, user_group, "put_user_groups")())
    assert not is_throttled(
        caller(api_client, UserGroupFactory(), "create_bookmarks")()
    )


@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_a_large_body_makes_a_call_costly(operation, in_progress):
    in_progress(COSTLY_CALLS, team_of(operation), 3)

    assert operation(b"{}".ljust(LARGE)).status_code == 400  # It was read.
    assert is_throttled(operation(b"{}".ljust(LARGE + 1), **{"wsgi.input": Unread()}))


@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_a_body_of_unknown_size_makes_a_call_costly(operation, in_progress):
    call = operation
    chunked = {"CONTENT_LENGTH": None, "wsgi.input_terminated": True}
    in_progress(COSTLY_CALLS, team_of(call), 2)
    answered = call(b"", **chunked, **{"wsgi.input": BytesIO(b"{}".ljust(LARGE + 1))})

    in_progress(COSTLY_CALLS, team_of(call), 1)
    refused = call(b"", **chunked, **{"wsgi.input": Unread()})

    assert answered.status_code == 400
    assert is_throttled(refused)


@pytest.mark.usefixtures("in_progress")
@pytest.mark.parametrize(
    ("error", "status"), [(UserGroup.DoesNotExist, 404), (DatabaseError, 500)]
)
def test_a_call_counts_until_it_fails(
    error, status, api_client, user_group, monkeypatch
):
    """The fixture ``in_progress`` checks at its end that no call is counted."""
    call = caller(api_client, user_group, "update_user_group")
    counted = []

    def change(*args, **kwargs):
        counted.extend(ANY_CALLS._calls.values())
        raise error

    monkeypatch.setattr(
        "usergroups.querysets.UserGroupManager.update_by_provided_id", change
    )

    assert call({"user_group_id": "a"}).status_code == status
    assert counted == [1]


def test_authentication_and_permission_come_first(api_client, user_group, in_progress):
    call = caller(api_client, user_group, "put_user_groups")
    in_progress(ANY_CALLS, user_group.team, 6)
    call.token = ApiTokenFactory(team=user_group.team, read_only=True)

    assert error_code(call(HTTP_AUTHORIZATION=None), 401) == "not_authenticated"
    assert error_code(call(), 403) == "insufficient_scope"


# Waiting


@pytest.fixture
def limit(monkeypatch):
    """A limit of one call for each owner, whose calls may wait for long."""
    monkeypatch.setattr(throttling, "MAX_WAIT", TIMEOUT)
    return ConcurrencyLimit(per_owner=1)


@pytest.fixture
def wait_for_turn(limit):
    """Return a function that lets a call of an owner wait in a thread, and a
    list of those that have begun.
    """
    begun = []

    def call(name, owner):
        limit.begin(owner)
        begun.append(name)
        limit.end(owner)

    with ExitStack() as stack:

        def wait(name, owner):
            number = len(limit._waiting)
            thread = Thread(target=call, args=[name, owner])
            thread.start()
            stack.callback(thread.join)
            wait_until(lambda: len(limit._waiting) > number)

        yield wait, begun


def test_a_call_over_the_limit_waits_for_its_turn(limit, wait_for_turn):
    wait, begun = wait_for_turn
    limit.begin("a")
    limit.begin("b")
    wait("first of a", "a")
    wait("second of a", "a")
    wait("first of b", "b")

    limit.end("b")
    wait_until(lambda: begun == ["first of b"])
    limit.end("a")
    wait_until(lambda: begun == ["first of b", "first of a", "second of a"])
    wait_until(lambda: not limit._calls)


def test_a_call_is_refused_at_once_if_200_of_its_owner_are_waiting(limit):
    limit.begin("a")
    limit._waiting.extend([("a", Event())] * (MAX_WAITING - 1))
    limit._waiting.extend([("b", Event())] * MAX_WAITING)
    assert limit._has_place("b")
    limit._waiting.append(("a", Event()))

    with pytest.raises(TooManyCalls):
        limit.begin("a")


@pytest.mark.django_db
def test_a_call_that_has_waited_too_long_is_refused(limit, monkeypatch):
    monkeypatch.setattr(throttling, "MAX_WAIT", 0)
    limit.begin("a")

    with pytest.raises(TooManyCalls):
        limit.begin("a")

    assert limit._waiting == []
    assert limit._calls == {"a": 1}


def test_refused_calls_come_back_at_different_times():
    assert len({TooManyCalls().wait for _ in range(100)}) == 5


@pytest.mark.django_db(transaction=True)
def test_a_waiting_call_gives_its_connection_back(limit, monkeypatch):
    monkeypatch.setattr(throttling, "MAX_WAIT", 0)
    connection.ensure_connection()
    # The attributes of the proxy ``connection`` could not be restored.
    own = connections[connection.alias]
    # as of a connection from a pool, which is for one request
    monkeypatch.setattr(own, "close_at", 0)
    closed = []
    monkeypatch.setattr(own, "close", lambda: closed.append(True))

    limit.begin("a")
    assert not closed
    with pytest.raises(TooManyCalls):
        limit.begin("a")

    assert closed
