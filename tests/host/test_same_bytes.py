"""Every host responds to the same calls over HTTP with the same status,
headers and bytes as the service on SQLite.

So does the service on every other kind of database.
"""

import re
from contextlib import ExitStack

import pytest

from tests.bookmarks_service.postgresql import (
    Cluster,
    Pooler,
    needs_pgbouncer,
    needs_postgresql,
)
from tests.host.calls import CALLS
from tests.host.hosts import SEEDED, asgi, hostile, service

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

RANDOM = re.compile(
    # secrets, hints and ids
    r"(?:ug[at]|bma)_\w{4,38}|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}"
    # Cursors, times, versions and rate limits.
    r"|(?<=cursor=)\w+|\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=\")[0-9a-f]{13,14}(?=\")|(?<=[rt]=)\d+"
)
# The seeded secrets, times, ids of bookmarks and collections, and versions
# (ETags).
NOT_RANDOM = re.compile(
    "|".join([*SEEDED.values(), "2026-01-0.*", "00000000-.*", "647[0-9a-f]{10}"])
)

SET_BY_THE_HOST = {hostile: {"content-language", "vary"}, asgi: {"x-host"}}
"""The headers that the host's own middleware sets."""


def parts_of(host, response, ignored):
    """Return the status, the body and the headers, with addresses and random
    values replaced.
    """

    def comparable(text):
        text = text.replace(
            f"{response.url.scheme}://{response.url.netloc.decode()}", ""
        )
        for app, prefix in host.prefixes.items():
            text = text.replace(f"{prefix}/{app}/", f"/{app}/")
        return RANDOM.sub(
            lambda match: match[0] if NOT_RANDOM.fullmatch(match[0]) else "<random>",
            text,
        )

    headers = {
        name: comparable(value)
        for name, value in response.headers.items()
        if name not in ignored
    }
    return {
        "status": response.status_code,
        "body": comparable(response.content.decode("latin-1")),
        **headers,
    }


def answers_of(host, folder, ignored=frozenset()):
    """Return the parts of the response to each call."""
    with host.serve(folder / "log") as address:
        return {
            name: parts_of(host, host.send(address, call), NOT_COMPARED | ignored)
            for name, call in CALLS.items()
        }


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
@pytest.mark.parametrize(
    "pooled",
    [False, pytest.param(True, marks=needs_pgbouncer)],
    ids=["PostgreSQL", "PgBouncer"],
)
def test_the_service_answers_the_same_on_another_database(
    answers_of_the_service, pooled, tmp_path
):
    with ExitStack() as stack:
        url = stack.enter_context(Cluster()).url
        if pooled:
            url = stack.enter_context(Pooler(url)).url
        answers = answers_of(service(url), tmp_path)

    for name, expected in answers_of_the_service.items():
        assert answers[name] == expected, name


def test_the_calls_cover_all_statuses_except_429_and_server_errors(
    answers_of_the_service,
):
    statuses = {answer["status"] for answer in answers_of_the_service.values()}

    assert statuses == {200, 201, 400, 401, 403, 404, 405, 409, 412, 413, 415}
