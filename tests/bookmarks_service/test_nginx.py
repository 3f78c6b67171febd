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

CONFIGURATION = """
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log;
{user}
events {{ }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {server}
}}
"""
"""A main configuration that contains the documented one."""


def certificate(folder):
    if not shutil.which("openssl"):
        pytest.skip("There is no openssl command to make a certificate.")
    files = ["-keyout", folder / "tls.key", "-out", folder / "tls.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, *files], check=True, capture_output=True)


class Nginx:
    """nginx with the documented configuration, whose ports, host and files are replaced."""

    def __init__(self, folder, port_of_the_service):
        self.folder, self.port, self.tls_port = folder, free_port(), free_port()
        certificate(folder)
        replaced = {
            "127.0.0.1:8000": f"127.0.0.1:{port_of_the_service}",
            "listen 80;": f"listen 127.0.0.1:{self.port};",
            "listen 443 ssl": f"listen 127.0.0.1:{self.tls_port} ssl",
            "/etc/ssl/bookmarks.example.pem": str(folder / "tls.pem"),
            "/etc/ssl/bookmarks.example.key": str(folder / "tls.key"),
        }
        server = (ROOT / "docs/examples/bookmarks_service.conf").read_text()
        for old, new in replaced.items():
            assert server.count(old) == 1, old
            server = server.replace(old, new)
        user = "user root;" if os.getuid() == 0 else ""  # so that its processes may use the folder
        (folder / "nginx.conf").write_text(CONFIGURATION.format(user=user, server=server))
        self.command = [NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"]

    def __enter__(self):
        log = self.folder / "nginx.log"
        self.process = start_server(self.command, log, lambda: listens(self.port) and listens(self.tls_port))
        return self

    def __exit__(self, *exc_info):
        stop_server(self.process)

    def send(self, request):
        """Send bytes as they are, without TLS. Return head and body of the answer."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT) as connection:
            connection.sendall(request)
            while received := connection.recv(65536):
                answer += received
        head, _, body = answer.partition(b"\r\n\r\n")
        return head.decode(), body

    @contextmanager
    def client(self, service, address="127.0.0.1", **headers):
        """Yield a client with this address and the access token of the service."""
        headers = {"Host": "localhost", "Authorization": f"Bearer {service.access_token}", **headers}
        base_url = f"https://127.0.0.1:{self.tls_port}"
        transport = httpx.HTTPTransport(verify=False, local_address=address)
        with httpx.Client(transport=transport, base_url=base_url, headers=headers, timeout=TIMEOUT) as client:
            yield client


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
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: ".ljust(BUFFER, b"a"), 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /nginx-error/400 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
    ],
    ids=["long request line", "long header", "no path", "the path of an error"],
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


def test_the_first_calls_can_be_made_and_repeated_over_https(nginx, https_service):
    variables = {
        "BASE_URL": f"https://localhost:{nginx.tls_port}",
        "CURL_CA_BUNDLE": str(nginx.folder / "tls.pem"),
        "API_TOKEN": https_service.api_token,
    }
    statuses = [
        subprocess.run(
            ["sh", "docs/examples/first_calls.sh"],
            cwd=ROOT, env={**os.environ, **variables}, timeout=TIMEOUT, check=False,
        ).returncode
        for _ in range(2)
    ]  # fmt: skip

    assert statuses == [0, 0]
