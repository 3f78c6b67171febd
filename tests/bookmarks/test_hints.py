"""Errors that say what to do."""

import pytest

from tests.answers import errors


def detail(response):
    [error] = response.json()["errors"]
    return error["detail"]


@pytest.mark.parametrize("name", ["created_since", "updated_since"])
def test_a_lost_plus_is_named(call_bookmarks, name):
    response = call_bookmarks("GET", "bookmarks", query={name: "2026-01-31T09:26:53 01:00"})

    assert errors(response) == [(name, "invalid")]
    assert detail(response) == "Not a date and time like 2026-01-31T09:26:53Z. In a URL, write + as %2B."
    assert call_bookmarks("GET", "bookmarks", query={name: "2026-01-31T09:26:53+01:00"}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_id_in_the_body_is_asked_for_in_the_query(call_usergroups, user_group, method):
    response = call_usergroups(method, "user", {"user_group_id": user_group.provided_id})

    assert errors(response) == [("user_group_id", "required")]
    assert detail(response) == "This parameter is required. Send it in the query string, not in the body."
