"""The short form of ``python -m tests.benchmarks.costs``."""

import time

import pytest
from drf_spectacular.generators import SchemaGenerator

from bookmarks.serializers import CollectionWriteSerializer
from tests.benchmarks.costs import MIB, SHORT, Extremes, Search
from tests.operations import OPERATIONS

pytestmark = [pytest.mark.django_db, pytest.mark.database_independent]


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


@pytest.fixture
def search(document):
    return Search(document, SHORT)


def too_high(costs):
    """Return what each call that costs too much took, by its name."""
    return {
        f"{name} {title}": str(cost) for name, title, cost in costs if cost.is_too_high
    }


@pytest.mark.parametrize("part", range(2))
def test_no_call_costs_more_than_its_length_explains(search, part):
    # two processes share the operations
    assert too_high(search.costs([*OPERATIONS][part::2])) == {}


def wait(length):
    """Use more time than a name of this length explains."""
    end = time.process_time() + length / 2000
    while time.process_time() < end:
        pass


def fail(length):
    raise RuntimeError


@pytest.mark.parametrize(
    "cause",
    [wait, lambda length: bytearray(b"x" * (length // 25) * MIB), fail],
    ids=["time", "memory", "error"],
)
def test_a_field_that_costs_too_much_is_found(search, monkeypatch, cause):
    def validate_name(serializer, name):
        if len(name) > 100:
            cause(len(name))
        return name

    monkeypatch.setattr(
        CollectionWriteSerializer, "validate_name", validate_name, raising=False
    )

    found = too_high(search.costs(["create_collection"]))

    assert "create_collection name: emoji" in found
    assert "create_collection valid" not in found


def test_a_new_field_of_the_document_is_sent():
    schema = {"properties": {"color": {"type": "string", "maxLength": 3}}}

    texts = [text for _, text in Extremes({}, SHORT).of(schema, {"color": "r"}, 100)]

    assert '{"color":"r😀😀"}' in texts
