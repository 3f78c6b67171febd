"""PUT /api/user."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.answers import errors
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.models import UserGroup

YEARS_AGO = datetime(2020, 1, 1, tzinfo=UTC)

# The service refuses U+0000, lone surrogates, and numbers that overflow a
# double.
text = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
numbers = st.integers(-(10**308), 10**308) | st.floats(
    allow_nan=False, allow_infinity=False
)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | text,
    lambda children: (
        st.lists(children, max_size=5) | st.dictionaries(text, children, max_size=5)
    ),
    max_leaves=10,
)


def exactly(value):
    """Return a text that differs for 1, 1.0 and true, and for different orders
    of keys.
    """
    return json.dumps(value)


def test_every_field_is_updated_and_the_group_returned_in_compact_json(
    update_user_group,
):
    user_group = UserGroupFactory(
        team=update_user_group.token.team, provided_id="ü", token="ugt_x"
    )
    mapping = {"40": "warehouse", "41": 113}
    properties = {"b": 1.0, "a": None}

    response = update_user_group(
        {
            "user_group_id": "ü",
            "name": "Ü",
            "mapping": mapping,
            "properties": properties,
        }
    )

    assert response.status_code == 200
    assert response.content.decode() == (
        '{"success":1,"user_group":{"team_id":%d,"token":"ugt_x","name":"Ü","provided_id":"ü",'
        '"properties":{"b":1.0,"a":null},"api_environment_tag":null}}'
        % user_group.team_id
    )
    user_group.refresh_from_db()
    assert user_group.mapping == mapping


def test_omitted_fields_are_unchanged(update_user_group):
    user_group = UserGroupFactory(
        team=update_user_group.token.team,
        mapping={"1": 2},
        properties={"a": 1},
        updated_at=YEARS_AGO,
    )
    row = UserGroup.objects.filter(pk=user_group.pk).values()
    before = row.get()

    response = update_user_group({"user_group_id": user_group.provided_id})

    assert response.json()["user_group"]["properties"] == {"a": 1}
    assert row.get() == before


@pytest.mark.parametrize(
    ("field", "sent", "stored"),
    [
        ("mapping", {"new": 2}, {"new": 2}),
        ("mapping", None, {}),
        ("mapping", {}, {}),
        ("properties", {"new": 2}, {"new": 2}),
        ("properties", None, None),
        ("properties", {}, {}),
    ],
)
def test_mapping_and_properties_are_replaced_as_a_whole(
    update_user_group, field, sent, stored
):
    user_group = UserGroupFactory(
        team=update_user_group.token.team, mapping={"old": 1}, properties={"old": 1}
    )

    response = update_user_group({"user_group_id": user_group.provided_id, field: sent})

    user_group.refresh_from_db()
    assert getattr(user_group, field) == stored
    assert response.json()["user_group"]["properties"] == user_group.properties


# Ownership


@pytest.mark.parametrize("environment", ["", "Customer", "Testing"])
def test_the_token_determines_the_team_and_the_environment(
    update_user_group, environment
):
    token = update_user_group.token
    groups = {
        tag: UserGroupFactory(
            team=token.team, environment=tag, provided_id="same", name="Old name"
        )
        for tag in ("", "Customer", "Testing")
    }
    UserGroupFactory(
        team=TeamFactory(),
        environment=environment,
        provided_id="same",
        name="Old name",
    )
    update_user_group.token = ApiTokenFactory(team=token.team, environment=environment)

    response = update_user_group({"user_group_id": "same", "name": "New name"})

    assert response.json()["user_group"]["api_environment_tag"] == (environment or None)
    assert UserGroup.objects.get(name="New name") == groups[environment]


# Validation


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "null"),
        ("", "blank"),
        (1, "invalid"),
        (True, "invalid"),
        (["a"], "invalid"),
        ("a" * 256, "max_length"),
    ],
)
@pytest.mark.parametrize("field", ["user_group_id", "name"])
def test_invalid_text_is_refused(update_user_group, user_group, field, value, code):
    body = {"user_group_id": user_group.provided_id, "name": "New name", field: value}

    assert errors(update_user_group(body)) == [(field, code)]
    user_group.refresh_from_db()
    assert user_group.name != "New name"


@pytest.mark.parametrize("value", ["a", 1, True, []])
@pytest.mark.parametrize("field", ["mapping", "properties"])
def test_mapping_and_properties_must_be_objects(
    update_user_group, user_group, field, value
):
    body = {"user_group_id": user_group.provided_id, field: value}

    assert errors(update_user_group(body)) == [(field, "not_an_object")]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "null"),
        ("", "blank"),
        (1.0, "invalid"),
        (True, "invalid"),
        ([], "invalid"),
        ("a" * 256, "max_length"),
    ],
)
def test_an_invalid_data_source_is_refused_with_its_path(
    update_user_group, user_group, value, code
):
    body = {"user_group_id": user_group.provided_id, "mapping": {"39": 1, "40": value}}

    assert errors(update_user_group(body)) == [("mapping.40", code)]


def test_all_errors_are_reported_at_once(update_user_group, user_group):
    before = UserGroup.objects.values().get()
    body = {
        "user_group_id": user_group.provided_id,
        "name": 1,
        "mapping": {"40": [], "41": None},
        "properties": 2,
    }

    assert errors(update_user_group(body)) == [
        ("name", "invalid"),
        ("mapping.40", "invalid"),
        ("mapping.41", "null"),
        ("properties", "not_an_object"),
    ]
    assert UserGroup.objects.values().get() == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    properties=st.dictionaries(text, json_values, max_size=5),
    mapping=st.dictionaries(text, st.integers(-(10**308), 10**308), max_size=5),
)
def test_properties_and_mappings_come_back_as_they_were_sent(
    update_user_group, user_group, properties, mapping
):
    sent = {"properties": properties, "mapping": mapping}

    response = update_user_group({"user_group_id": user_group.provided_id, **sent})

    user_group.refresh_from_db()
    assert exactly(response.json()["user_group"]["properties"]) == exactly(properties)
    assert exactly(user_group.mapping) == exactly(mapping)
