"""Look for calls that take more time or memory than their length explains.

For every operation, each parameter and each field that the OpenAPI document
has is replaced by values that are large, many or odd. The other values are
those of the valid call. Meanwhile, the rows of the database are as large as
calls can make them, and each call is undone.
"""

import ctypes
import gc
import json
import re
import signal
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from django.db import connection, transaction
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from bookmarks.serializers import CollectionWriteSerializer
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.calls import operations_of
from tests.operations import OPERATIONS, caller, valid_body_of
from tests.usergroups.factories import UserGroupFactory

pytestmark = [pytest.mark.django_db, pytest.mark.database_independent]

MIB = 1024 * 1024
MAX_SECONDS_PER_KB = 0.020
MAX_MEMORY_PER_KB = MIB
MAX_SECONDS = 10
MIN_KB = 5
"""The length of a call that counts, if it is shorter, because any call takes
some time, and a search reads a limited number of rows.
"""
MAX_BODY = 16 * 1024  # bytes
MAX_HEADER = 32 * 1024
MAX_PARAMETER = 2 * 1024
LARGE_NUMBER = 10**6


class Cost(NamedTuple):
    status: int
    length: int
    """The number of bytes that were sent and received."""
    seconds: float
    memory: int
    """bytes"""

    @property
    def share(self):
        """The part of what it may take that it took."""
        kilobytes = max(MIN_KB, self.length / 1024)
        return max(
            self.seconds / kilobytes / MAX_SECONDS_PER_KB,
            self.memory / kilobytes / MAX_MEMORY_PER_KB,
            self.seconds / MAX_SECONDS,
        )

    @property
    def is_too_high(self):
        return self.share > 1 or self.status == 500


# Measuring

LIBC = ctypes.CDLL(None)


def memory(name):
    """Return the memory that the process has ("VmRSS") or the most that it had
    ("VmHWM"), in bytes. It includes what libraries in C take.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024


def stop(*arguments):
    raise TimeoutError("The call takes too long.")


def measured_once(call, body, query, headers):
    """Make a call, undo what it changes and return what it took."""
    signal.signal(signal.SIGPROF, stop)
    gc.collect()
    # so that the next collection does not visit what exists
    gc.freeze()
    LIBC.malloc_trim(0)
    connection.ensure_connection()
    with transaction.atomic():
        # "5" makes the highest value the present one.
        Path("/proc/self/clear_refs").write_text("5")
        memory_before = memory("VmRSS")
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        response = call(body, query=query, **headers)
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - start
        grown = memory("VmHWM") - memory_before
        transaction.set_rollback(True)
    sent = len(call.url) + len(urlencode(query)) + sum(map(len, headers.values()))
    length = sent + len(body) + len(response.content)
    return Cost(response.status_code, length, seconds, grown)


def measured(*arguments):
    """Measure a call, up to three times if it is dear, and return the least,
    because other programs may disturb it.
    """
    cost = measured_once(*arguments)
    for _ in range(2):
        if cost.is_too_high and cost.seconds < MAX_SECONDS:
            again = measured_once(*arguments)
            cost = min(cost, again, key=lambda each: each.share)
    return cost


# Extreme values, each a name and a text of JSON


def encoded(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_object(fields):
    return "{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}"


def json_array(item, most, room):
    """Return a list of as many items as have ``room`` bytes, at most ``most``.

    ``item`` returns the JSON of the item with a number.
    """
    number = min(most, room // (len(item(0).encode()) + 1))
    return f"[{','.join(map(item, range(number)))}]"


class Extremes:
    """The extreme values of the schemas of an OpenAPI document."""

    def __init__(self, document):
        self.components = document.get("components", {})

    def resolved(self, schema):
        """Return the schema that a reference names, or the first of several."""
        if "$ref" in schema:
            _, _, kind, name = schema["$ref"].split("/")
            return self.components[kind][name]
        if "oneOf" in schema:
            return self.resolved(schema["oneOf"][0])
        return schema

    def of(self, schema, value, room):
        """Yield values in place of a valid one, of about ``room`` bytes at most."""
        schema = self.resolved(schema)
        if "properties" in schema:
            yield from self.of_object(schema["properties"], value or {}, room)
        elif "items" in schema:
            yield from self.of_array(schema, value or [None], room)
        else:
            yield from self.texts(schema, value, room)
        yield from self.unusual(room)

    def of_object(self, properties, value, room):
        fields = {name: encoded(each) for name, each in value.items()}
        for name, schema in properties.items():
            for title, text in self.of(schema, value.get(name), room):
                yield f"{name}: {title}", json_object({**fields, name: text}.items())
        unknown = [(f"unknown{number}", "[]") for number in range(room // 20)]
        yield "unknown fields", json_object([*fields.items(), *unknown])

    def of_array(self, schema, value, room):
        most = schema.get("maxItems", LARGE_NUMBER)
        item = encoded(value[0])
        for number in (most, LARGE_NUMBER):
            yield f"{number} items", json_array(lambda n: item, number, room)
        # Valid bodies have this word in their URLs and ids.
        different = json_array(
            lambda n: item.replace("generated", f"generated{n}"), most, room
        )
        yield "different items", different
        each_room = room // min(most, 1000)
        for title, text in self.of(schema["items"], value[0], each_room):
            same = json_array(lambda n, text=text: text, most, room)
            yield f"items with {title}", same

    def texts(self, schema, value, room):
        """Yield long texts, which begin as a valid one does."""
        beginning = value if isinstance(value, str) else ""
        most = schema.get("maxLength", room)
        yield "emoji", encoded((beginning + "😀" * most)[:most])
        yield "too many emoji", encoded(beginning + "😀" * (room // 4))
        # Each of them has twelve bytes.
        yield "escaped emoji", json.dumps((beginning + "😀" * most)[:most])

    def unusual(self, room):
        """Yield JSON that most fields refuse."""
        yield "list of lists", json_array(lambda n: "[]", LARGE_NUMBER, room)
        depth = room // 8
        yield "nested lists", "[" * depth + "]" * depth
        yield "nested objects", '{"a":' * depth + "0" + "}" * depth
        keys = room // 12
        yield "keys", json_object((str(key), "[]") for key in range(keys))
        yield "the same key", json_object([("a", "[]")] * keys)
        yield "a long key", json_object([("a" * room, "[]")])
        yield "a long integer", "1" * room
        yield "a long fraction", f"0.{'1' * room}"


# Calls


class Search:
    """Makes calls of the operations of an OpenAPI document."""

    def __init__(self, document):
        self.operations = operations_of(document)
        self.extremes = Extremes(document)
        self.client = Client(raise_request_exception=False)
        self.user_group = large_user_group()

    def too_high(self, names):
        """Return what each call of these operations that costs too much took,
        by its name.
        """
        return {
            f"{name} {title}": cost
            for name in names
            for title, cost in self.costs(name)
            if cost.is_too_high
        }

    def costs(self, name):
        """Yield the title of each call of an operation, and what it took."""
        call = caller(self.client, self.user_group, name)
        valid_query = {**call.query, **call.operation.filters}
        valid_query = {key: str(value) for key, value in valid_query.items()}
        call.query = {}
        body = valid_body_of(name, self.user_group)
        content = body if isinstance(body, bytes) else encoded(body).encode()
        yield "valid", measured(call, content, valid_query, {})
        for title, query, headers in self.parameters(name, valid_query):
            yield title, measured(call, content, query, headers)
        for title, text in self.bodies(name, body):
            yield title, measured(call, text, valid_query, {})

    def parameters(self, name, valid_query):
        """Yield the title, the query and the headers of calls."""
        _, _, operation = self.operations[name]
        for parameter in map(self.extremes.resolved, operation.get("parameters", [])):
            key = parameter["name"]
            if parameter["in"] == "path":
                continue
            is_header = parameter["in"] == "header"
            room = MAX_HEADER if is_header else MAX_PARAMETER
            value = valid_query.get(key)
            for title, text in self.extremes.of(parameter["schema"], value, room):
                if is_header:
                    header = {f"HTTP_{key.upper().replace('-', '_')}": text}
                    yield f"{key}: {title}", valid_query, header
                else:
                    query = {**valid_query, key: text.strip('"')}
                    yield f"{key}: {title}", query, {}

    def bodies(self, name, body):
        _, _, operation = self.operations[name]
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            schema = content["application/json"]["schema"]
            for title, text in self.extremes.of(schema, body, MAX_BODY - 1024):
                yield title, text.encode()


def large_user_group():
    """Return a user group with rows that are as large as they can be."""
    properties = {str(n): "😀" * 1000 for n in range(200)}
    group = UserGroupFactory(name="😀" * 255, properties=properties)
    UserGroupFactory.create_batch(20, team=group.team, properties=properties)
    for number in range(10):
        name = f"{number}".ljust(255, "😀")
        AccessTokenFactory(user_group=group, name=name)
        collection = CollectionFactory(user_group=group, name=name)
        BookmarkFactory(
            user_group=group,
            collection=collection if number % 2 else None,
            url=f"https://example.com/{number}".ljust(8000, "a"),
            title="😀" * 1000,
            note="😀" * 10_000,
            tags=[f"{tag}".ljust(100, "😀") for tag in range(50)],
        )
    return group


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


@pytest.fixture
def search(document):
    return Search(document)


@pytest.mark.parametrize("part", range(2))
def test_no_call_costs_more_than_its_length_explains(search, part):
    """Two processes share the operations."""
    assert search.too_high([*OPERATIONS][part::2]) == {}


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

    found = search.too_high(["create_collection"])

    assert "create_collection name: emoji" in found
    assert "create_collection valid" not in found


def test_a_new_field_of_the_document_is_sent():
    schema = {"properties": {"color": {"type": "string", "maxLength": 3}}}

    texts = [text for _, text in Extremes({}).of(schema, {"color": "r"}, 100)]

    assert '{"color":"r😀😀"}' in texts
