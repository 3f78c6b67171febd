"""The short form of ``python -m tests.benchmarks.costs``."""

import time

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from bookmarks.serializers import CollectionWriteSerializer
from tests.benchmarks.costs.calls import SHORT, Search
from tests.benchmarks.costs.extremes import Extremes
from tests.benchmarks.costs.measuring import MIB
from tests.benchmarks.costs.pages import Pages
from tests.operations import OPERATIONS

pytestmark = [pytest.mark.django_db, pytest.mark.database_independent]


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


def too_high(costs):
    """Return what each request that costs too much took, by its name."""
    found = {}
    for name, request, cost in costs:
        if cost.is_too_high:
            found[f"{name} {request.name}"] = str(cost)
    return found


@pytest.mark.parametrize("part", range(2))
def test_no_call_costs_more_than_its_length_explains(document, part):
    # two processes share the operations
    names = [*OPERATIONS][part::2]

    assert too_high(Search.create(document, SHORT).costs(names)) == {}


def test_no_page_costs_more_than_its_length_explains(document):
    Search.create(document, SHORT).fill()

    assert too_high(Pages(Client(raise_request_exception=False), SHORT).costs([])) == {}


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
def test_a_field_that_costs_too_much_is_found(document, monkeypatch, cause):
    def validate_name(serializer, name):
        if len(name) > 100:
            cause(len(name))
        return name

    monkeypatch.setattr(
        CollectionWriteSerializer, "validate_name", validate_name, raising=False
    )
    search = Search.create(document, SHORT)

    found = too_high(search.costs(["create_collection"]))

    assert "create_collection name: emoji" in found
    assert "create_collection ?" not in found


def test_a_new_field_of_the_document_is_sent():
    extremes = Extremes({"components": {"schemas": {}}}, ["emoji"], [])
    schema = {"properties": {"color": {"type": "string", "maxLength": 3}}}

    texts = [each.text for each in extremes.of(schema, {"color": "r"}, 100)]

    assert '{"color":"r😀😀"}' in texts
