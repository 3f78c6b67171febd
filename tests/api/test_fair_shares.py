"""The time, the memory and the response of a call are bounded, whatever its
body and the stored rows contain.
"""

import tracemalloc

import pytest
from django.urls import reverse

from tests.answers import error_code
from tests.conftest import Caller
from tests.operations import MIB
from tests.usergroups.factories import UserGroupFactory
from usergroups.api import pagination, strict_json
from usergroups.api.errors import TOO_MANY
from usergroups.models import UserGroup
from usergroups.serializers import DataSourceField

INVALID_MAPPING = {str(schema_id): [] for schema_id in range(10_000)}


@pytest.fixture
def validations(monkeypatch):
    """Return a list to which each value of a mapping is added when it is
    validated.
    """
    values = []
    run_validation = DataSourceField.run_validation
    monkeypatch.setattr(
        DataSourceField,
        "run_validation",
        lambda field, value: values.append(value) or run_validation(field, value),
    )
    return values


@pytest.mark.database_independent
@pytest.mark.parametrize(
    ("number", "listed"), [(99, 99), (100, 100), (101, 100), (10_000, 100)]
)
def test_at_most_100_errors_are_listed(update_user_group, number, listed):
    errors = update_user_group(invalid_item(number)).json()["errors"]

    assert len(errors) == listed
    assert errors[0] == {
        "code": "invalid",
        "detail": "Not a string or an integer.",
        "attr": "mapping.0",
    }
    assert (errors[-1] == TOO_MANY) == (number > 100)


@pytest.mark.database_independent
def test_validation_stops_when_there_are_more_errors_than_are_listed(
    update_user_group, validations
):
    update_user_group(invalid_item(10_000))

    assert len(validations) == 101


def codes_of(result):
    return [error["code"] for error in result["errors"]]


def codes_by_item(response):
    """Return the codes of the errors of each item of a batch."""
    assert response.status_code == 200
    return [codes_of(result) for result in response.json()["results"]]


def invalid_item(number):
    """Return a body, or an item of a batch, with this number of errors."""
    mapping = dict(list(INVALID_MAPPING.items())[:number])
    return {"user_group_id": "a", "mapping": mapping}


@pytest.mark.database_independent
def test_an_item_of_a_batch_lists_at_most_10_errors(call_usergroups):
    items = [invalid_item(number) for number in (1, 10, 11)]

    response = call_usergroups("POST", "users-batch", {"user_groups": items})

    assert codes_by_item(response) == [
        ["invalid"],
        ["invalid"] * 10,
        ["invalid"] * 9 + ["too_many_errors"],
    ]


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "member",
    [
        pytest.param("[]", id="arrays"),
        pytest.param("{}", id="objects"),
        pytest.param("0", id="integers"),
        pytest.param("1.5", id="numbers"),
        pytest.param('"ab"', id="strings"),
    ],
)
def test_parsing_takes_memory_in_proportion_to_the_size_of_the_body(member):
    # A quarter of a MiB, which cannot have MAX_VALUES commas and brackets.
    members = f"{member}," * (MIB // 4 // len(f"{member},"))
    body = f'{{"a": [{members}0]}}'.encode()

    tracemalloc.start()
    strict_json.decode(body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 40 * len(body)  # 25 for empty objects, which take the most


# Short requests for many large user groups


@pytest.fixture
def large_groups(user_group):
    """Ten user groups with a megabyte of properties each."""
    large = {"text": "a" * MIB}
    return UserGroupFactory.create_batch(10, team=user_group.team, properties=large)


def test_the_size_of_a_page_is_limited(
    api_client, api_token, large_groups, monkeypatch
):
    monkeypatch.setattr(pagination, "MAX_PAGE_SIZE", 3.5 * MIB)
    page = {"next": reverse("usergroups:users")}
    ids = []
    sizes = []
    while page["next"]:
        page = Caller(api_client, "GET", page["next"], "Token", api_token)().json()
        ids += [group["provided_id"] for group in page["user_groups"]]
        sizes.append(len(page["user_groups"]))

    assert sizes == [3, 3, 3, 2]  # The last row is ``user_group``, which is small.
    assert ids[:10] == [group.provided_id for group in reversed(large_groups)]


@pytest.mark.parametrize(
    ("missing", "number"), [(0, 4), (1, 3)], ids=["all fit", "one byte too much"]
)
def test_a_page_ends_before_its_json_exceeds_the_limit(
    call_usergroups, user_group, monkeypatch, missing, number
):
    properties = {"text": "ü" * 50}
    UserGroupFactory.create_batch(
        4, team=user_group.team, properties=properties, mapping={"40": "eu"}
    )
    # the stored JSON of one group
    size = len(('{"text":"' + "ü" * 50 + '"}{"40":"eu"}').encode())
    monkeypatch.setattr(pagination, "MAX_PAGE_SIZE", 4 * size - missing)

    page = call_usergroups("GET", "users").json()

    listed_properties = [group["properties"] for group in page["user_groups"]]
    assert listed_properties == [properties] * number
    assert page["next"]


def test_a_page_has_at_least_one_row(
    api_client, call_usergroups, large_groups, monkeypatch
):
    monkeypatch.setattr(pagination, "MAX_PAGE_SIZE", 1)

    assert len(call_usergroups("GET", "users").json()["user_groups"]) == 1


def test_a_batch_whose_answer_would_be_too_large_is_refused(
    call_usergroups, large_groups
):
    # 40 results with a group of 1 MiB each. A response has at most 32 MiB.
    items = [
        {"user_group_id": group.provided_id, "name": "New"}
        for _ in range(4)
        for group in large_groups
    ]

    refused = call_usergroups("POST", "users-batch", {"user_groups": items})

    assert error_code(refused, 413) == "payload_too_large"
    assert not UserGroup.objects.filter(name="New").exists()
    accepted = call_usergroups("POST", "users-batch", {"user_groups": items[:30]})
    assert accepted.status_code == 200


def test_a_batch_that_would_repeat_a_large_group_in_its_answer_is_refused(
    call_usergroups,
):
    items = [
        {"user_group_id": "a", "properties": {"text": "a" * MIB}},
        *[{"user_group_id": "a"}] * 999,
    ]

    response = call_usergroups("POST", "users-batch", {"user_groups": items})

    assert response.status_code == 413
    assert not UserGroup.objects.filter(provided_id="a").exists()
