"""Stored JSON is copied to a response as text, and read only by a call that
passes it on.
"""

import json

import pytest
from django.db import connection

from tests.operations import OPERATIONS, caller
from tests.queries import queries_of
from usergroups.db import stored_json
from usergroups.models import UserGroup

pytestmark = pytest.mark.django_db

MAPPING = {"40": "warehouse_eu"}
PROPERTIES = {"plan": [1.0, 10**30, "ü\u2028"]}


@pytest.fixture
def user_group(user_group):
    UserGroup.objects.filter(pk=user_group.pk).update(
        mapping=MAPPING, properties=PROPERTIES
    )
    return UserGroup.objects.get(pk=user_group.pk)


@pytest.fixture
def decoded(monkeypatch):
    """Return a list of the JSON texts that a call decodes."""
    texts = []
    loads = json.loads

    def decode(text):
        texts.append(text)
        return loads(text)

    monkeypatch.setattr(stored_json.json, "loads", decode)
    return texts


READ = {
    "get_user_group": {"mapping", "properties"},
    # These two write both.
    "create_user_group": {"mapping", "properties"},
    "update_user_group": {"mapping", "properties"},
    # The batch compares the sizes of the stored columns.
    "put_user_groups": {"mapping", "properties"},
    "rotate_user_group_token": {"properties"},
    "resolve_user_group": {"mapping", "properties"},
    "list_user_groups": {"mapping", "properties"},
    "get_access_token": {"properties"},
    "create_bookmark": {"properties"},
    "create_bookmarks": {"properties"},
    # The signal after a deletion has the whole row.
    "delete_user_group": {"mapping", "properties"},
    "delete_user_groups": {"mapping", "properties"},
}
"""The JSON columns of the user group that an operation reads.

The operations that are not listed read none.
"""


# On SQLite, Python compares the JSON that an update writes with the stored one.
DECODED = {"update_user_group"} if connection.vendor == "sqlite" else set()


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_reads_only_the_json_that_it_passes_on_and_decodes_no_other(
    api_client, user_group, valid_body, decoded, name
):
    call = caller(api_client, user_group, name)

    statements = " ".join(queries_of(call, valid_body))

    columns = {"mapping", "properties"}
    read = {column for column in columns if f'"{column}"' in statements}
    assert read == READ.get(name, set())
    assert bool(decoded) == (name in DECODED)


def test_an_update_without_json_reads_only_the_json_that_it_passes_on(
    update_user_group, user_group, decoded
):
    body = {"user_group_id": user_group.provided_id, "name": "New"}

    [_, update] = queries_of(update_user_group, body)

    assert '"properties"' in update
    assert '"mapping"' not in update
    assert decoded == []


def test_changed_json_is_saved(user_group):
    user_group.properties["new"] = None
    user_group.mapping = {}
    user_group.save()

    stored = UserGroup.objects.get(pk=user_group.pk)
    assert (stored.properties, stored.mapping) == ({**PROPERTIES, "new": None}, {})
    # the stored text
    assert UserGroup.objects.values_list("mapping", flat=True).get() == "{}"
