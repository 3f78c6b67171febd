"""Look for calls that take more time or memory than their length explains.

    DATABASE_URL=postgres://... python -m tests.benchmarks.costs [NAME ...]

For every operation, each parameter and each field that the OpenAPI document
has is replaced by values that are as large, as many or as odd as they can be.
The other values are those of the valid call. Meanwhile, the rows of the
database are as large as calls can make them.

It prints the dearest calls of each operation, with the CPU time and the memory
for each kB that was sent and received. It fails if a call takes more than 20 ms
or 1 MiB for each of them, more than 10 s, or has a status of 500. NAME is the
operation to look at, by default all.

The memory is the growth of the process, which includes what libraries in C
take. On PostgreSQL, the CPU time includes that of the connection's process.
The database is a new one, on SQLite if DATABASE_URL is not set. Each call is
undone.
"""

import ctypes
import gc
import json
import logging
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import dj_database_url
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from tests.benchmarks import readers
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.bookmarks_service.service import empty_database
from tests.calls import operations_of
from tests.conftest import Caller
from tests.operations import OPERATIONS, caller, valid_body_of
from tests.usergroups.factories import UserGroupFactory
from usergroups.models import UserGroup

MIB = 1024 * 1024
MAX_SECONDS_PER_KB = 0.020
MAX_MEMORY_PER_KB = MIB
MAX_SECONDS = 10
MIN_KB = 5
"""The length of a call that counts, if it is shorter, because any call takes
some time, and a search reads a limited number of rows.
"""
MAX_HEADER = 32 * 1024  # bytes
MAX_PARAMETER = 2 * 1024
LARGE_NUMBER = 10**6

TEXTS = {
    "letters": "a",
    "emoji": "😀",
    "capital I with dot": "İ",
    "spaces": " ",
    "percent signs": "%",
    "brackets": "[",
    "quotes and commas": '"",',
    "backslashes": "\\",
    "slashes": "/",
    "digits": "1",
}
"""What long texts consist of."""

MEMBERS = ["[]", "{}", "0", "1.5", '""', "null", "1e999"]
"""What long lists of JSON consist of."""


class Size(NamedTuple):
    """How much a search sends and stores."""

    texts: list[str]
    """The names of the TEXTS that it sends."""
    members: list[str]
    """The MEMBERS of the lists that it sends."""
    largest_body: int
    """bytes"""
    largest_file: int
    rows: int
    """The number of large rows of each kind."""


FULL = Size([*TEXTS], MEMBERS, 8 * MIB, MIB, 300)
SHORT = Size(["emoji"], ["[]"], 16 * 1024, 0, 10)


class Cost(NamedTuple):
    status: int
    length: int
    """The number of bytes that were sent and received."""
    seconds: float
    memory: int
    """bytes"""

    @property
    def share(self) -> float:
        """The part of what it may take that it took."""
        kilobytes = max(MIN_KB, self.length / 1024)
        return max(
            self.seconds / kilobytes / MAX_SECONDS_PER_KB,
            self.memory / kilobytes / MAX_MEMORY_PER_KB,
            self.seconds / MAX_SECONDS,
        )

    @property
    def is_too_high(self) -> bool:
        return self.share > 1 or self.status == 500

    def __str__(self) -> str:
        return (
            f"{self.status} {self.length / 1024:9,.1f} kB {self.seconds:7.3f} s "
            f"{self.memory / MIB:6.1f} MiB: {self.share:.0%}"
        )


# Measuring

LIBC = ctypes.CDLL(None)


def cpu_seconds() -> float:
    """Return the CPU time of this process and of PostgreSQL's for it."""
    seconds = time.process_time()
    if connection.vendor == "postgresql":
        pid = connection.connection.info.backend_pid
        nanoseconds = Path(f"/proc/{pid}/schedstat").read_text().split()[0]
        seconds += int(nanoseconds) / 1e9
    return seconds


def memory(name: str) -> int:
    """Return the memory that the process has ("VmRSS") or the most that it had
    ("VmHWM"), in bytes.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024


def stop(*arguments: object) -> None:
    raise TimeoutError("The call takes too long.")


def measured_once(call: Caller, body: bytes, query: Any, headers: Any) -> Cost:
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
        start = cpu_seconds()
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        response = call(body, query=query, **headers)
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = cpu_seconds() - start
        grown = memory("VmHWM") - memory_before
        transaction.set_rollback(True)
    sent = len(call.url) + len(urlencode(query)) + sum(map(len, headers.values()))
    length = sent + len(body) + len(response.content)
    return Cost(response.status_code, length, seconds, grown)


def measured(*arguments: Any) -> Cost:
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


def encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_object(fields: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}"


def json_array(item: Callable[[int], str], most: int, room: int) -> str:
    """Return a list of as many items as have ``room`` bytes, at most ``most``."""
    number = min(most, room // (len(item(0).encode()) + 1))
    return f"[{','.join(map(item, range(number)))}]"


class Extremes:
    """The extreme values of the schemas of an OpenAPI document."""

    def __init__(self, document: dict[str, Any], size: Size) -> None:
        self.components = document.get("components", {})
        self.size = size

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema that a reference names, or the first of several."""
        if "$ref" in schema:
            _, _, kind, name = schema["$ref"].split("/")
            return self.components[kind][name]
        if "oneOf" in schema:
            return self.resolved(schema["oneOf"][0])
        return schema

    def of(
        self, schema: dict[str, Any], value: Any, room: int
    ) -> Iterator[tuple[str, str]]:
        """Yield values in place of a valid one, of about ``room`` bytes at most."""
        schema = self.resolved(schema)
        if "properties" in schema:
            yield from self.of_object(schema["properties"], value or {}, room)
        elif "items" in schema:
            yield from self.of_array(schema, value or [None], room)
        else:
            yield from self.texts(schema, value, room)
        yield from self.unusual(room)

    def of_object(
        self, properties: dict[str, Any], value: dict[str, Any], room: int
    ) -> Iterator[tuple[str, str]]:
        fields = {name: encoded(each) for name, each in value.items()}
        for name, schema in properties.items():
            for title, text in self.of(schema, value.get(name), room):
                yield f"{name}: {title}", json_object({**fields, name: text}.items())
        unknown = [(f"unknown{number}", "[]") for number in range(room // 20)]
        yield "unknown fields", json_object([*fields.items(), *unknown])

    def of_array(
        self, schema: dict[str, Any], value: list[Any], room: int
    ) -> Iterator[tuple[str, str]]:
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

    def texts(
        self, schema: dict[str, Any], value: Any, room: int
    ) -> Iterator[tuple[str, str]]:
        """Yield long texts, which begin as a valid one does."""
        beginning = value if isinstance(value, str) else ""
        most = schema.get("maxLength", room)
        for name in self.size.texts:
            part = TEXTS[name]
            yield name, encoded((beginning + part * most)[:most])
            too_many = room // len(part.encode())
            yield f"too many {name}", encoded(beginning + part * too_many)
        # Each of them has twelve bytes.
        yield "escaped emoji", json.dumps((beginning + "😀" * most)[:most])

    def unusual(self, room: int) -> Iterator[tuple[str, str]]:
        """Yield JSON that most fields refuse."""
        for member in self.size.members:
            array = json_array(lambda n, member=member: member, LARGE_NUMBER, room)
            yield f"list of {member}", array
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

    def __init__(self, document: dict[str, Any], size: Size) -> None:
        self.operations = operations_of(document)
        self.extremes = Extremes(document, size)
        self.size = size
        self.client = Client(raise_request_exception=False, SERVER_NAME="localhost")
        self.user_group = large_user_group(size.rows)

    def costs(self, names: Iterable[str]) -> Iterator[tuple[str, str, Cost]]:
        """Yield the name of each operation and call, and what the call took."""
        for name in names:
            call = caller(self.client, self.user_group, name)
            valid_query = {**call.query, **call.operation.filters}
            valid_query = {key: str(value) for key, value in valid_query.items()}
            call.query = {}
            body = valid_body_of(name, self.user_group)
            content = body if isinstance(body, bytes) else encoded(body).encode()
            yield name, "valid", measured(call, content, valid_query, {})
            for title, query, headers in self.parameters(name, valid_query):
                cost = measured(call, content, query, headers)
                yield name, title, cost
            for title, text in self.bodies(name, body):
                yield name, title, measured(call, text, valid_query, {})

    def parameters(
        self, name: str, valid_query: dict[str, str]
    ) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
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
                name_of_call = f"{key}: {title}"
                if is_header:
                    header = {f"HTTP_{key.upper().replace('-', '_')}": text}
                    yield name_of_call, valid_query, header
                else:
                    query = {**valid_query, key: text.strip('"')}
                    yield name_of_call, query, {}

    def bodies(self, name: str, body: Any) -> Iterator[tuple[str, bytes]]:
        _, _, operation = self.operations[name]
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            most = min(OPERATIONS[name].max_body_size, self.size.largest_body)
            schema = content["application/json"]["schema"]
            for title, text in self.extremes.of(schema, body, most - 1024):
                yield title, text.encode()
        elif content and self.size.largest_file:
            for title, (beginning, part) in readers.INPUTS["jsonl"].items():
                file = readers.GeneratedFile(beginning, part, self.size.largest_file)
                yield title, file.read()


def large_user_group(rows: int) -> UserGroup:
    """Return a user group with many rows that are as large as they can be."""
    properties = {str(n): "😀" * 1000 for n in range(200)}
    group = UserGroupFactory(name="😀" * 255, properties=properties)
    UserGroupFactory.create_batch(20, team=group.team, properties=properties)
    for number in range(rows):
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


def report(costs: Iterable[tuple[str, str, Cost]]) -> int:
    """Print the dearest calls, and return the number of those that are too
    dear.
    """
    by_name: dict[str, list[tuple[Cost, str]]] = {}
    for name, title, cost in costs:
        by_name.setdefault(name, []).append((cost, title))
        if cost.is_too_high:
            print("TOO HIGH", name, cost, "|", title, flush=True)
    number = 0
    for name, found in by_name.items():
        found.sort(key=lambda each: each[0].share, reverse=True)
        print(name, len(found))
        for cost, title in found[:3]:
            print("   ", cost, "|", title, flush=True)
        number += sum(cost.is_too_high for cost, _ in found)
    return number


def main(names: list[str]) -> None:
    # Only here, because tests import this module.
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = dj_database_url.parse(url)["NAME"]
        call_command("migrate", verbosity=0)
        document = SchemaGenerator().get_schema(request=None, public=True)
        too_high = report(Search(document, FULL).costs(names or OPERATIONS))
        connection.close()
    sys.exit(bool(too_high))


if __name__ == "__main__":
    main(sys.argv[1:])
