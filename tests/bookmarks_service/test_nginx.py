"""The nginx configuration in docs/examples/bookmarks_service.conf, in front of a running service."""

import json
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager

import httpx
import pytest

from tests.answers import error_code
from tests.bookmarks_service.service import Service, empty_database
from tests.documents import ROOT
from tests.servers import TIMEOUT, free_port, listens, start_server, stop_server

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

pytestmark = [pytest.mark.database_independent, pytest.mark.skipif(NGINX is None, reason="nginx is not installed")]

MIB = 1024 * 1024

BUFFER = 64 * 1024
"""The size of nginx's buffers for headers. Tests just fill one: nginx may reset a connection with unread data."""


@pytest.fixture(scope="module")
def https_service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("https_service")
    limits = {"USERGROUPS_FAILURE_RATE": "5/day", "GRANIAN_WORKERS": "1"}
    variables = {"BEHIND_TLS_PROXY": "1", "SECRET_KEY": "x" * 50, **limits}
    with empty_database(folder) as database_url, Service(folder, database_url, **variables) as service:
        yield service


@pytest.fixture(scope="module")
def nginx(https_service, tmp_path_factory):
    with Nginx(tmp_path_factory.mktemp("nginx"), https_service.port) as running:
        yield running


def test_a_batch_of_8_mib_passes_and_a_larger_one_is_refused_in_json(nginx, https_service):
    body = json.dumps({"bookmarks": []}).encode().ljust(8 * MIB)
    with nginx.client(https_service, **{"Content-Type": "application/json"}) as client:
        response = client.post("/v1/bookmarks/batch", content=body)
        refused = client.post("/v1/bookmarks/batch", content=body + b" ")

    assert (response.status_code, response.json()["results"]) == (200, [])
    assert error_code(refused, 413) == "payload_too_large"


def test_a_file_of_8_mib_is_imported(nginx, https_service):
    file = b'{"url": "https://example.com/file"}\n'.ljust(8 * MIB, b"\n")
    with nginx.client(https_service, **{"Content-Type": "application/jsonl"}) as client:
        response = client.post("/v1/imports", content=file)

    assert (response.status_code, response.json()["report"]["created"]) == (200, 1)


def test_a_long_url_passes(nginx, https_service):
    url = "https://example.com/".ljust(5000, "\N{GRINNING FACE}")  # 60 kB in the query string, which fit a BUFFER
    with nginx.client(https_service) as client:
        created = client.post("/v1/bookmarks", json={"url": url})
        found = client.get("/v1/bookmarks", params={"url": url})

    assert found.json()["bookmarks"] == [created.json()["bookmark"]]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /".ljust(BUFFER, b"a"), 414),
        (b"GET /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\n" + b"A: ".ljust(BUFFER, b"a"), 400),
        (b"GET\r\n\r\n", 400),
    ],
    ids=["long request line", "long header", "no path"],
)
def test_a_malformed_request_is_refused_in_json(nginx, sent, status):
    head, body = nginx.send(sent)

    assert int(head.split()[1]) == status
    assert "Content-Type: application/json" in head
    assert "Cache-Control: no-store" in head
    assert json.loads(body)["errors"][0]["code"] == "bad_request"


def test_an_unreachable_service_is_answered_in_json(https_service, tmp_path):
    with Nginx(tmp_path, free_port()) as nginx, nginx.client(https_service) as client:
        response = client.get("/v1/bookmarks")

    assert error_code(response, 502) == "service_unavailable"
    assert int(response.headers["Retry-After"]) > 0


def test_api_calls_without_https_are_refused(nginx):
    headers = {"Host": "localhost", "Authorization": "Bearer x", "X-Forwarded-Proto": "https"}

    response = httpx.get(f"http://127.0.0.1:{nginx.port}/v1/bookmarks", headers=headers, timeout=TIMEOUT)

    assert error_code(response, 400) == "bad_request"


def test_links_have_the_scheme_and_the_host_of_the_client(nginx, https_service):
    with nginx.client(https_service, **{"X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil"}) as client:
        for n in range(2):
            client.post("/v1/bookmarks", json={"url": f"https://example.com/{n}"})
        page = client.get("/v1/bookmarks?limit=1")

    assert page.json()["next"].startswith("https://localhost/v1/bookmarks?")


def test_the_request_id_of_a_client_is_passed_through(nginx, https_service):
    with nginx.client(https_service, **{"X-Request-ID": "an-id-of-the-client"}) as client:
        response = client.get("/v1/bookmarks")

    assert response.headers.get_list("X-Request-ID") == ["an-id-of-the-client"]
    assert '"request_id": "an-id-of-the-client"' in https_service.log.read_text()


def test_a_forged_address_is_not_counted(nginx, https_service):
    statuses = []
    for n in range(10):
        headers = {"X-Forwarded-For": f"192.0.2.{n}", "Authorization": "Bearer x"}
        with nginx.client(https_service, "127.0.0.5", **headers) as client:
            statuses.append(client.get("/v1/bookmarks").status_code)

    assert statuses == [401] * 5 + [429] * 5  # https_service allows five failures per address
