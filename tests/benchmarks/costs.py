"""Look for calls that take more time or memory than their length explains.

    DATABASE_URL=postgres://... python -m tests.benchmarks.costs [OPERATION ...]

The calls come from the OpenAPI document: for every operation and every field
and parameter in it, values that are as large, as many or as odd as they can be,
alone and together, while the rows of the database are as large as calls can
make them. It prints the CPU time and the memory for each kB that a call sends
and receives, of the dearest calls of each operation, and fails if a call takes
more than 20 ms or 1 MiB for each of them, more than 10 s, or a status of 500.

The memory is the growth of the process, which includes what libraries in C
take. On PostgreSQL, the CPU time includes that of the connection's process.
The database is a new one, on SQLite if DATABASE_URL is not set.
"""

import ctypes
import gc
import json
import logging
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import dj_database_url
from django.db import connection, transaction
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from tests.benchmarks import readers
from tests.benchmarks.extremes import LONG_AGO, MEMBERS, TEXTS, Extremes, encoded
from tests.bookmarks.factories import AccessTokenFactory
from tests.bookmarks_service.calls import CALLS, Call, operations_of, resolved
from tests.bookmarks_service.service import empty_database
from tests.operations import OPERATIONS
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory

MIB = 1024 * 1024
MAX_SECONDS_PER_KB = 0.020
MAX_MEMORY_PER_KB = MIB
MAX_SECONDS = 10
MIN_KB = 5
MAX_HEADER = 32 * 1024  # bytes
MAX_QUERY = 24 * 1024  # bytes

LIBC = ctypes.CDLL(None)


class Request(NamedTuple):
    name: str
    """What is special about it."""
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    content_type: str = "application/json"


class Cost(NamedTuple):
    status: int
    length: int
    """The number of bytes that were sent and received."""
    seconds: float
    memory: int
    """bytes"""

    @property
    def kilobytes(self) -> float:
        """Its length, or MIN_KB if it is shorter, because each call takes some
        time.
        """
        return max(MIN_KB, self.length / 1024)

    @property
    def share(self) -> float:
        """The part of what it may take that it took."""
        kilobytes = self.kilobytes
        return max(
            self.seconds / kilobytes / MAX_SECONDS_PER_KB,
            self.memory / kilobytes / MAX_MEMORY_PER_KB,
            self.seconds / MAX_SECONDS,
        )

    @property
    def is_too_high(self) -> bool:
        return self.share > 1 or self.status == 500

    def __str__(self) -> str:
        kilobytes = self.kilobytes
        return (
            f"{self.status} {self.length / 1024:9,.1f} kB {self.seconds:7.3f} s "
            f"{self.memory / MIB:6.1f} MiB: {self.seconds * 1000 / kilobytes:6.2f} ms "
            f"and {self.memory / 1024 / kilobytes:7.1f} KiB for each kB"
        )


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


def answer(client: Client, request: Request) -> tuple[int, bytes]:
    response = client.generic(
        request.method,
        request.path,
        request.body,
        request.content_type,
        headers=request.headers,
    )
    if response.streaming:
        return response.status_code, response.getvalue()
    return response.status_code, response.content


def measured(client: Client, request: Request) -> Cost:
    """Measure a call, up to three times if it is dear, and return the least,
    because other programs may disturb it.
    """
    cost = measured_once(client, request)
    for _ in range(2):
        if cost.is_too_high and cost.seconds < MAX_SECONDS:
            cost = min(cost, measured_once(client, request), key=lambda each: each.share)
    return cost


def measured_once(client: Client, request: Request) -> Cost:
    """Make a call, undo what it changes and return what it took."""
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
        status, content = answer(client, request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = cpu_seconds() - start
        grown = memory("VmHWM") - memory_before
        transaction.set_rollback(True)
    headers = sum(map(len, request.headers.values()))
    length = len(request.path) + headers + len(request.body) + len(content)
    return Cost(status, length, seconds, grown)


class Size(NamedTuple):
    """How much a search sends and stores."""

    texts: list[str]
    """The names of the TEXTS that it sends."""
    members: list[str]
    """The MEMBERS of the lists that it sends."""
    parameters: int
    """The number of optional parameters that it sends together."""
    largest_body: int
    """bytes"""
    largest_file: int
    rows: dict[str, int]
    """The number of large rows that each operation creates."""


KEYS = {
    "create_user_group": "user_group_id",
    "issue_access_token": "name",
    "create_collection": "name",
    "create_bookmark": "url",
}
"""The field that is unique, for each operation that creates a row."""

FULL = Size(
    [*TEXTS],
    MEMBERS,
    2,
    8 * MIB,
    MIB,
    {
        "create_user_group": 20,
        "issue_access_token": 1000,
        "create_collection": 1000,
        "create_bookmark": 300,
    },
)
SHORT = Size(
    ["emoji", "quotes and commas"],
    ["[]"],
    1,
    16 * 1024,
    0,
    {
        "create_user_group": 5,
        "issue_access_token": 10,
        "create_collection": 10,
        "create_bookmark": 10,
    },
)


class Search:
    """Makes the calls of every operation of an OpenAPI document.

    ``tokens`` has the value of the header Authorization for each prefix of
    paths.
    """

    def __init__(
        self,
        document: dict[str, Any],
        client: Client,
        tokens: dict[str, str],
        size: Size,
    ) -> None:
        self.document = document
        self.operations = operations_of(document)
        self.extremes = Extremes(document, size.texts, size.members)
        self.client = client
        self.tokens = tokens
        self.size = size
        self.answers: dict[str, Any] = {}
        """The last answer of each operation."""

    def costs(self, names: list[str]) -> Iterator[tuple[str, Request, Cost]]:
        """Yield the calls of these operations and what they took."""
        done = set()
        for call in CALLS:
            name = call.operation
            if name in names and name not in done:
                for request in self.requests(call):
                    yield name, request, measured(self.client, request)
            done.add(name)
            self.make(call)

    def make(self, call: Call) -> None:
        """Make a call with values that are as large as they can be, several
        times if it creates a row.
        """
        numbers = [""]
        if call.status == 201 and call.operation in KEYS:
            numbers += map(str, range(self.size.rows[call.operation]))
        for number in reversed(numbers):
            request = self.largest_request(call, number)
            status, content = answer(self.client, request)
            assert status == call.status, (call, status, content[:1000])
        if call.status < 400 and not OPERATIONS[call.operation].returns_file:
            self.answers[call.operation] = json.loads(content)

    def largest_request(self, call: Call, number: str) -> Request:
        """Return the call with values that are as large as they can be."""
        parameters = dict(call.parameters)
        for each in self.parameters(call.operation):
            name = each["name"]
            if each["in"] == "query" and name in parameters:
                parameters[name] = self.extremes.largest(
                    each["schema"], parameters[name], 2048
                )
        parameters = resolved(parameters, self.answers)
        body = b""
        schema = self.body_schema(call.operation)
        if schema:
            base = call.body or {}
            value = self.extremes.largest(schema, base, self.room(call.operation))
            if number:
                key = KEYS[call.operation]
                field = self.extremes.resolved(schema)["properties"][key]
                value[key] = self.extremes.largest(field, base[key], MIB, number)
            body = encoded(resolved(value, self.answers)).encode()
        elif call.file:
            body = call.file.encode()
        return self.request(call.operation, "", parameters, body)

    def requests(self, call: Call) -> Iterator[Request]:
        """Yield the requests whose cost is measured."""
        name = call.operation
        parameters = resolved(call.parameters, self.answers)
        yield self.largest_request(call, "")._replace(name="all at their maximum")
        schema = self.body_schema(name)
        base = self.base(call)
        body = call.file.encode() if call.file else encoded(base).encode()
        described = self.parameters(name)
        optional = [each["name"] for each in described if not each.get("required")]
        required = {
            each["name"]: parameters.get(each["name"], LONG_AGO)
            for each in described
            if each.get("required")
        }
        for number in range(self.size.parameters + 1):
            for chosen in combinations(optional, number):
                values = {each: parameters.get(each) for each in chosen}
                yield self.request(
                    name, f"?{' '.join(chosen)}", {**required, **values}, body
                )
        for each in described:
            schema_of_it = each["schema"]
            known = parameters.get(each["name"])
            room = MAX_HEADER if each["in"] == "header" else MAX_QUERY // 9
            for extreme in self.extremes.of_type(schema_of_it, known, room):
                value = query_value(extreme.text)
                yield self.request(
                    name,
                    f"{each['name']}: {extreme.name}",
                    {**required, each["name"]: value},
                    body,
                )
        if schema:
            for extreme in self.extremes.of(schema, base, self.room(name)):
                yield self.request(name, extreme.name, parameters, extreme.text.encode())
        elif call.file and self.size.largest_file:
            for format_name, inputs in readers.INPUTS.items():
                for input_name, (beginning, part) in inputs.items():
                    file = readers.GeneratedFile(beginning, part, self.size.largest_file)
                    yield self.request(
                        name,
                        f"{format_name}: {input_name}",
                        {"format": format_name, "update": True},
                        file.read(),
                    )

    def base(self, call: Call) -> Any:
        return resolved(call.body or {}, self.answers)

    def parameters(self, name: str) -> list[dict[str, Any]]:
        _, _, operation = self.operations[name]
        return operation.get("parameters", [])

    def body_schema(self, name: str) -> dict[str, Any] | None:
        _, _, operation = self.operations[name]
        content = operation.get("requestBody", {}).get("content", {})
        return content.get("application/json", {}).get("schema")

    def room(self, name: str) -> int:
        return min(OPERATIONS[name].max_body_size, self.size.largest_body) - 1024

    def request(
        self, name: str, title: str, parameters: dict[str, Any], body: bytes
    ) -> Request:
        path, method, _ = self.operations[name]
        headers = {}
        query = {}
        for each in self.parameters(name):
            value = parameters.get(each["name"])
            if value is None:
                if each["name"] not in parameters:
                    continue
                value = self.extremes.numbered(each["schema"], None, "")
            if each["in"] == "path":
                path = path.replace("{id}", quote(str(value), safe=""))
            elif each["in"] == "header":
                # no header has line breaks
                headers[each["name"]] = str(value).replace("\n", " ")
            else:
                query[each["name"]] = value
        if query:
            path += "?" + urlencode(query, doseq=True)
        prefix = path.split("/")[1]
        headers["Authorization"] = self.tokens[prefix]
        content_type = "application/json"
        if name == "import_bookmarks":
            content_type = "application/octet-stream"
        return Request(title, method.upper(), path, headers, body, content_type)


def query_value(text: str) -> Any:
    """Return a value of JSON as one for a query string or a header."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, list):
        return [each if isinstance(each, str) else json.dumps(each) for each in value]
    return value if isinstance(value, str) else text


def create_search(document: dict[str, Any], size: Size) -> Search:
    """Create the tokens, and return a search that calls with them."""
    user_group = UserGroupFactory()
    api_token = ApiTokenFactory(team=user_group.team)
    access_token = AccessTokenFactory(user_group=user_group)
    tokens = {"api": f"Token {api_token.secret}", "v1": f"Bearer {access_token.secret}"}
    return Search(document, Client(raise_request_exception=False, SERVER_NAME="localhost"), tokens, size)


def report(search: Search, names: list[str]) -> list[str]:
    """Print the dearest calls, and return those that are too dear."""
    by_operation: dict[str, list[tuple[Cost, Request]]] = {}
    start = time.time()
    number = 0
    for name, request, cost in search.costs(names):
        number += 1
        by_operation.setdefault(name, []).append((cost, request))
        if cost.is_too_high:
            print("TOO HIGH", name, "|", request.name, "|", cost, flush=True)
    too_high = []
    for name, found in by_operation.items():
        found.sort(key=lambda each: each[0].share, reverse=True)
        print(name, len(found))
        for cost, request in found[:3]:
            print("   ", cost, "|", request.name)
        too_high += [f"{name}: {r.name}: {c}" for c, r in found if c.is_too_high]
    print(number, "calls", round(time.time() - start), "s")
    return too_high


def stop(*arguments: object) -> None:
    raise TimeoutError("The call takes too long.")


def main(arguments: list[str]) -> None:
    from django.core.management import call_command
    size = SHORT if "--short" in arguments else FULL
    names = [a for a in arguments if not a.startswith("-")] or list(OPERATIONS)
    logging.getLogger("bookmarks_service.request_log").disabled = True
    signal.signal(signal.SIGPROF, stop)
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = dj_database_url.parse(url)["NAME"]
        call_command("migrate", verbosity=0)
        document = SchemaGenerator().get_schema(request=None, public=True)
        search = create_search(document, size)
        gc.freeze()
        too_high = report(search, names)
        connection.close()
    sys.exit(bool(too_high))


if __name__ == "__main__":
    main(sys.argv[1:])
