"""Every host responds to the same calls over HTTP with the same status,
headers and bytes as the service on SQLite.

So does the service on PostgreSQL.
"""

from datetime import timedelta
from urllib.parse import urlencode

import pytest

from tests.answers import etag_of, time_json
from tests.bookmarks_service.postgresql import (
    Cluster,
    Pooler,
    needs_pgbouncer,
    needs_postgresql,
)
from tests.calls import CALLS, with_answers
from tests.host.calls import CALLS as UNUSUAL_CALLS
from tests.host.calls import Call
from tests.host.hosts import SECRETS, SEEDED, asgi, hostile, service
from tests.host.seed import BOOKMARKS, COLLECTIONS, START
from tests.operations import ANSWERED_IN_JSON, OPERATIONS
from usergroups.tokens import secret_format

pytestmark = pytest.mark.database_independent

NOT_COMPARED = {
    "date",
    "server",
    "connection",
    "transfer-encoding",
    "content-length",
    "x-request-id",
}
"""Headers of the server or of a single request, and the length, since the
bodies are compared.
"""

CREATED_FIELDS = {
    "id",
    "token",
    "secret",
    "hint",
    "etag",
    "created_at",
    "updated_at",
    "expires_at",
    "revoked_at",
    "rotated_at",
    "deleted_at",
    "last_used_at",
}
"""The fields of a body whose values differ for each host, unless they are
those of a seeded row.
"""
SEEDED_VALUES = {
    *SEEDED.values(),
    *(secret_format.hint(secret) for secret in SECRETS.values()),
    *(str(key) for key in BOOKMARKS + COLLECTIONS),
}
SEEDED_MOMENTS = [START + timedelta(hours=hours) for hours in range(24)]
SEEDED_TIMES = {time_json(moment) for moment in SEEDED_MOMENTS}
SEEDED_ETAGS = {etag_of(moment) for moment in SEEDED_MOMENTS}

SET_BY_THE_HOST = {hostile: {"content-language", "vary"}, asgi: {"x-host"}}
"""The headers that the host's own middleware sets."""


def created_values(data):
    """Yield the values in JSON that the host has created, each with the name
    of its field.
    """
    if isinstance(data, list):
        for item in data:
            yield from created_values(item)
    elif isinstance(data, dict):
        for name, value in data.items():
            if name in CREATED_FIELDS and isinstance(value, str):
                if value not in SEEDED_VALUES | SEEDED_TIMES | SEEDED_ETAGS:
                    # JSON escapes the quotation marks of an entity tag.
                    yield value.strip('"'), name
            else:
                yield from created_values(value)


class Answers:
    """The answers of a host, in a form in which those of all hosts are equal.

    The names of fields in angle brackets stand for the values that the host
    has created in this or in an earlier call.
    """

    def __init__(self, host, ignored):
        self.host = host
        self.ignored = NOT_COMPARED | ignored
        self.created = {}

    def parts_of(self, response):
        """Return the status, the body and the headers of a response."""
        if response.headers["content-type"] == "application/json" and response.content:
            self.created.update(created_values(response.json()))
        address = f"{response.url.scheme}://{response.url.netloc.decode()}"
        parts = {
            "status": response.status_code,
            "body": self.comparable(response.content.decode("latin-1"), address),
        }
        for name, value in response.headers.items():
            if name not in self.ignored:
                parts[name] = self.comparable(value, address)
        if "ratelimit" in parts:
            parts["ratelimit"] = "<remaining calls>"
        if "etag" in parts and parts["etag"] not in SEEDED_ETAGS:
            parts["etag"] = "<etag>"
        return parts

    def comparable(self, text, address):
        """Replace the address and the prefixes of the host, and the values
        that it has created.
        """
        text = text.replace(address, "")
        for app, prefix in self.host.prefixes.items():
            text = text.replace(f"{prefix}/{app}/", f"/{app}/")
        # Replace a secret before its hint, which is the beginning of it.
        for value in sorted(self.created, key=len, reverse=True):
            text = text.replace(value, f"<{self.created[value]}>")
        return text


def request_of(call, answers):
    """Return a call of an operation as a request to a host."""
    operation = OPERATIONS[call.operation]
    parameters, body = with_answers([call.parameters, call.body], answers)
    path = operation.path(lambda each: parameters.pop("id"))
    query = urlencode(parameters, doseq=True)
    content = call.file.encode() if call.file else body
    return Call(operation.method, f"{path}?{query}" if query else path, content)


def answers_of(host, folder, ignored=frozenset()):
    """Return the parts of the response to each call."""
    answers = Answers(host, ignored)
    last = {}
    with host.serve(folder / "log") as address:
        parts = {
            name: answers.parts_of(host.send(address, call))
            for name, call in UNUSUAL_CALLS.items()
        }
        for number, call in enumerate(CALLS):
            response = host.send(address, request_of(call, last))
            assert response.status_code == call.status, (call, response.text)
            if response.is_success and call.operation in ANSWERED_IN_JSON:
                last[call.operation] = response.json()
            parts[f"{number}: {call.operation}"] = answers.parts_of(response)
    return parts


@pytest.fixture(scope="module")
def answers_of_the_service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    return answers_of(service(f"sqlite:///{folder / 'db.sqlite3'}"), folder)


@pytest.mark.parametrize("host", SET_BY_THE_HOST)
def test_a_host_answers_as_the_service_does(answers_of_the_service, host, tmp_path):
    ignored = SET_BY_THE_HOST[host]

    answers = answers_of(host(tmp_path), tmp_path, ignored)

    for name, expected in answers_of_the_service.items():
        assert answers[name] == {
            part: value for part, value in expected.items() if part not in ignored
        }, name


@needs_postgresql
@needs_pgbouncer
def test_the_service_answers_the_same_with_postgresql_behind_pgbouncer(
    answers_of_the_service, tmp_path
):
    with Cluster() as cluster, Pooler(cluster.url) as pooler:
        answers = answers_of(service(pooler.url), tmp_path)

    for name, expected in answers_of_the_service.items():
        assert answers[name] == expected, name


def test_the_calls_cover_all_statuses_except_429_and_server_errors(
    answers_of_the_service,
):
    statuses = {answer["status"] for answer in answers_of_the_service.values()}

    assert statuses == {200, 201, 400, 401, 403, 404, 405, 409, 410, 412, 413, 415}
