"""Stored JSON is copied to a response as text, and read only by a call whose
response has it.
"""

import json

import pytest
from django.urls import reverse

from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller
from tests.queries import queries_of
from usergroups.db import stored_json
from usergroups.models import UserGroup

pytestmark = pytest.mark.django_db

MAPPING, PROPERTIES = {"40": "warehouse_eu"}, {"plan": [1.0, 10**30, "ü\u2028"]}


@pytest.fixture
def user_group(user_group):
    UserGroup.objects.filter(pk=user_group.pk).update(
        mapping=MAPPING, properties=PROPERTIES
    )
    return UserGroup.objects.get(pk=user_group.pk)


@pytest.fixture
def decoded(monkeypatch):
    """Return a list of the JSON texts that a call decodes."""
    texts, loads = [], json.loads

    def decode(text):
        texts.append(text)
        return loads(text)

    monkeypatch.setattr(stored_json.json, "loads", decode)
    return texts


@pytest.fixture
def calls(client, user_group, api_token):
    """Return a function that calls the operation with this name."""
    by_group = Caller(
        client,
        "",
        "",
        "Bearer",
        AccessTokenFactory(user_group=user_group, recently_used=True),
    )
    by_team = Caller(client, "", "", "Token", api_token)
    group = {"user_group_id": user_group.provided_id}
    query = f"?user_group_id={user_group.provided_id}"
    operations = {
        "PUT user": (by_team, "usergroups:user", "", {**group, "name": "New"}),
        "POST user": (by_team, "usergroups:user", "", group),
        "GET user": (by_team, "usergroups:user", query, None),
        "GET users": (by_team, "usergroups:users", "", None),
        "POST token": (by_team, "usergroups:user-token", "", group),
        "POST access token": (by_team, "access_tokens:access-tokens", "", group),
        "GET access tokens": (by_team, "access_tokens:access-tokens", query, None),
        "GET bookmarks": (by_group, "bookmarks:bookmarks", "?limit=1", None),
        "POST bookmark": (
            by_group,
            "bookmarks:bookmarks",
            "",
            {"url": "https://example.com/"},
        ),
        "POST collection": (by_group, "bookmarks:collections", "", {"name": "New"}),
    }

    def call(name):
        caller, url_name, suffix, body = operations[name]
        caller.url = reverse(url_name) + suffix
        return caller(b"" if body is None else body, method=name.partition(" ")[0])

    return call


JSON_COLUMNS_READ = {
    "PUT user": {"properties"},
    "POST user": {"properties"},
    "GET user": {"mapping", "properties"},
    "GET users": {"mapping", "properties"},
    "POST token": {"properties"},
    "POST access token": set(),
    "GET access tokens": set(),
    "GET bookmarks": set(),
    "POST bookmark": {"properties"},
    "POST collection": set(),
}
"""The JSON columns of the user group that each call reads."""


@pytest.mark.parametrize("name", JSON_COLUMNS_READ)
def test_a_call_reads_only_the_json_of_its_response_and_decodes_nothing(
    calls, decoded, name
):
    statements = queries_of(calls, name)

    read = {
        column
        for column in ("mapping", "properties")
        if any(f'"{column}"' in sql for sql in statements)
    }
    assert read == JSON_COLUMNS_READ[name]
    assert decoded == []


def test_changed_json_is_saved(user_group):
    user_group.properties["new"] = None
    user_group.mapping = {}
    user_group.save()

    stored = UserGroup.objects.get(pk=user_group.pk)
    assert (stored.properties, stored.mapping) == ({**PROPERTIES, "new": None}, {})
    # the stored text
    assert UserGroup.objects.values_list("mapping", flat=True).get() == "{}"
