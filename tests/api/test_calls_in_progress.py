"""The calls in progress of one owner are limited, before their bodies are
read.
"""

from contextlib import ExitStack
from io import BytesIO

import pytest
from django.db import DatabaseError

from tests.answers import error_code
from tests.calls_in_progress import begin_call
from tests.operations import COSTLY, MIB, ONE_OF_EACH_SCHEME, caller
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.api.concurrency import ANY_CALLS, COSTLY_CALLS
from usergroups.models import UserGroup
from usergroups.views import UserGroupView

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
    return call.token.owner


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
    assert response["Retry-After"] == "1"
    return True


def test_an_owner_has_at_most_six_calls_in_progress(any_operation, in_progress):
    in_progress(ANY_CALLS, owner_of(any_operation), 5)
    assert not is_throttled(any_operation())

    in_progress(ANY_CALLS, owner_of(any_operation), 1)
    assert is_throttled(any_operation(b"", **{"wsgi.input": Unread()}))


def test_calls_of_other_owners_go_on(any_operation, in_progress):
    for other in UserGroupFactory.create_batch(2):
        in_progress(ANY_CALLS, other, 6)
        in_progress(ANY_CALLS, other.team, 6)

    assert not is_throttled(any_operation())


@pytest.mark.parametrize("name", COSTLY)
def test_an_owner_has_at_most_three_costly_calls(
    name, api_client, user_group, in_progress
):
    call = caller(api_client, user_group, name)
    in_progress(COSTLY_CALLS, owner_of(call), 2)
    assert not is_throttled(call())

    in_progress(COSTLY_CALLS, owner_of(call), 1)
    assert is_throttled(call(b"", **{"wsgi.input": Unread()}))


def test_the_other_calls_are_not_costly(any_operation, in_progress):
    in_progress(COSTLY_CALLS, owner_of(any_operation), 3)

    assert is_throttled(any_operation()) == any_operation.operation.is_costly


def test_all_owners_have_at_most_six_costly_calls(api_client, user_group, in_progress):
    call = caller(api_client, user_group, "create_bookmarks")
    others = UserGroupFactory.create_batch(6)
    for other in others[:5]:
        in_progress(COSTLY_CALLS, other, 1)
    assert not is_throttled(call({"bookmarks": []}))

    in_progress(COSTLY_CALLS, others[5], 1)
    assert is_throttled(call({"bookmarks": []}))


@pytest.mark.parametrize("name", ONE_OF_EACH_SCHEME)
def test_a_large_body_makes_a_call_costly(
    name, api_client, user_group, in_progress, valid_body
):
    call = caller(api_client, user_group, name)
    in_progress(COSTLY_CALLS, owner_of(call), 3)

    assert call(b"{}".ljust(LARGE)).status_code == 400  # It was read.
    assert is_throttled(call(b"{}".ljust(LARGE + 1), **{"wsgi.input": Unread()}))


def chunked(body):
    return {
        "CONTENT_LENGTH": None,
        "wsgi.input_terminated": True,
        "wsgi.input": body,
    }


@pytest.mark.parametrize("name", ONE_OF_EACH_SCHEME)
def test_a_chunked_body_makes_a_call_costly_once_it_is_large(
    name, api_client, user_group, in_progress
):
    call = caller(api_client, user_group, name)
    in_progress(COSTLY_CALLS, owner_of(call), 3)
    small = BytesIO(b"{}".ljust(LARGE))
    large = BytesIO(b"{}".ljust(MIB))

    assert call(b"", **chunked(small)).status_code == 400
    assert is_throttled(call(b"", **chunked(large)))
    assert large.tell() <= 2 * LARGE


def test_a_chunked_body_counts_as_one_costly_call(api_client, user_group, in_progress):
    call = caller(api_client, user_group, "update_user_group")
    in_progress(COSTLY_CALLS, owner_of(call), 2)

    assert call(b"", **chunked(BytesIO(b"{}".ljust(MIB)))).status_code == 400


@pytest.mark.usefixtures("in_progress")
@pytest.mark.parametrize(("body", "status"), [({"user_groups": []}, 200), ({}, 400)])
def test_a_call_counts_until_it_is_answered(body, status, api_client, user_group):
    """The fixture ``in_progress`` checks at its end that no call is counted."""
    call = caller(api_client, user_group, "put_user_groups")

    assert call(body).status_code == status


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


def test_a_subclass_can_declare_more_calls_costly(
    api_client, user_group, in_progress, monkeypatch
):
    monkeypatch.setattr(UserGroupView, "costly_methods", ("GET",))
    in_progress(COSTLY_CALLS, user_group.team, 3)

    assert is_throttled(caller(api_client, user_group, "get_user_group")())
    assert not is_throttled(caller(api_client, user_group, "delete_user_group")())
