"""Calls of every operation of the API with extreme values."""

import json
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from django.test import Client

from tests.benchmarks import readers
from tests.bookmarks.factories import AccessTokenFactory
from tests.calls import CALLS, Call, operations_of, with_answers
from tests.operations import OPERATIONS
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory

from .extremes import LONG_AGO, MEMBERS, TEXTS, Extremes, encoded
from .measuring import MIB, Cost, Request, answer, measured

MAX_HEADER = 32 * 1024  # bytes
MAX_QUERY = 24 * 1024  # bytes


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
    largest_form: int
    is_each_field_alone: bool
    """Whether it sends the fields of a page also one by one."""
    lists: list[str]
    """The kinds of lists of the admin to which it sends every parameter."""
    lookups: list[str]
    """What it appends to the name of each field of a list."""
    rows: dict[str, int]
    """The number of large rows that each operation creates."""


KEYS = {
    "create_user_group": "user_group_id",
    "issue_access_token": "name",
    "create_collection": "name",
    "create_bookmark": "url",
}
"""The field that is unique, for each operation that creates a row."""

LAST = ("delete_bookmark", "delete_collection")
"""The operations that delete the rows again."""

FULL = Size(
    [*TEXTS],
    MEMBERS,
    2,
    8 * MIB,
    MIB,
    MIB,
    True,
    ["changelist", "csv"],
    ["", "__contains", "__iregex", "__in"],
    {
        "create_user_group": 20,
        "issue_access_token": 900,
        "create_collection": 1000,
        "create_bookmark": 300,
    },
)
SHORT = Size(
    ["emoji"],
    ["[]"],
    1,
    16 * 1024,
    0,
    16 * 1024,
    False,
    ["changelist"],
    ["__contains"],
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
        self.operations = operations_of(document)
        self.extremes = Extremes(document, size.texts, size.members)
        self.client = client
        self.tokens = tokens
        self.size = size
        self.answers: dict[str, Any] = {}
        """The last answer of each operation."""

    @classmethod
    def create(cls, document: dict[str, Any], size: Size) -> "Search":
        """Create the tokens, and return a search that calls with them."""
        user_group = UserGroupFactory()
        api_token = ApiTokenFactory(team=user_group.team)
        access_token = AccessTokenFactory(user_group=user_group)
        tokens = {
            "api": f"Token {api_token.secret}",
            "v1": f"Bearer {access_token.secret}",
        }
        client = Client(raise_request_exception=False, SERVER_NAME="localhost")
        return cls(document, client, tokens, size)

    def costs(self, names: Iterable[str]) -> Iterator[tuple[str, Request, Cost]]:
        """Yield the calls of these operations and what they took."""
        left = {*names}
        for call in CALLS:
            name = call.operation
            if name in left:
                for request in self.requests(call):
                    yield name, request, measured(self.client, request)
                left.remove(name)
                if not left:
                    return
            self.make(call)

    def fill(self) -> None:
        """Create the rows, without measuring anything."""
        for call in CALLS:
            if call.operation in LAST:
                return
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
        parameters = with_answers(parameters, self.answers)
        body = b""
        schema = self.body_schema(call.operation)
        if schema:
            base = call.body or {}
            value = self.extremes.largest(schema, base, self.room(call.operation))
            if number:
                key = KEYS[call.operation]
                field = self.extremes.resolved(schema)["properties"][key]
                value[key] = self.extremes.largest(field, base[key], MIB, number)
            body = encoded(with_answers(value, self.answers)).encode()
        elif call.file:
            body = call.file.encode()
        return self.request(call.operation, "", parameters, body)

    def requests(self, call: Call) -> Iterator[Request]:
        """Yield the requests whose cost is measured."""
        name = call.operation
        parameters = with_answers(call.parameters, self.answers)
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
                yield self.request(
                    name, extreme.name, parameters, extreme.text.encode()
                )
        elif call.file and self.size.largest_file:
            for format_name, inputs in readers.INPUTS.items():
                for input_name, (beginning, part) in inputs.items():
                    file = readers.GeneratedFile(
                        beginning, part, self.size.largest_file
                    )
                    yield self.request(
                        name,
                        f"{format_name}: {input_name}",
                        {"format": format_name, "update": True},
                        file.read(),
                    )

    def base(self, call: Call) -> Any:
        return with_answers(call.body or {}, self.answers)

    def parameters(self, name: str) -> list[dict[str, Any]]:
        _, _, operation = self.operations[name]
        parameters = operation.get("parameters", [])
        return [self.extremes.resolved(parameter) for parameter in parameters]

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
