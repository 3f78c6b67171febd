"""The nginx configuration in docs/deploy.md, in front of a running service."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import contextmanager
from urllib.parse import quote

import httpx
import pytest

from tests.answers import error_code
from tests.bookmarks_service.service import ROOT, Service, empty_database
from tests.servers import TIMEOUT, free_port, listens, start_server, stop_server

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

pytestmark = [pytest.mark.once, pytest.mark.skipif(NGINX is None, reason="nginx is not installed")]

MAIN = """
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


def documented_server():
    document = (ROOT / "docs/deploy.md").read_text()
    [configuration] = re.findall(r"```nginx\n(.*?)```", document, re.DOTALL)
    return configuration


def certificate(folder):
    if not shutil.which("openssl"):
        pytest.skip("There is no openssl command to make a certificate.")
    files = ["-keyout", folder / "tls.key", "-out", folder / "tls.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, *files], check=True, capture_output=True)


class Nginx:
    """nginx with the documented configuration, whose ports, host and files are replaced."""

    def __init__(self, folder, upstream_port, read_timeout=120):
        self.folder, self.port, self.tls_port = folder, free_port(), free_port()
        certificate(folder)
        replaced = {
            "server 127.0.0.1:8000;": f"server 127.0.0.1:{upstream_port};",
            "proxy_read_timeout 120s;": f"proxy_read_timeout {read_timeout}s;",
            "listen 80;": f"listen 127.0.0.1:{self.port};",
            "listen 443 ssl": f"listen 127.0.0.1:{self.tls_port} ssl",
            "/etc/ssl/bookmarks.example.pem": str(folder / "tls.pem"),
            "/etc/ssl/bookmarks.example.key": str(folder / "tls.key"),
        }
        server = documented_server()
        for old, new in replaced.items():
            assert server.count(old) == 1, old
            server = server.replace(old, new)
        user = "user root;" if os.getuid() == 0 else ""  # so that its processes may use the folder
        (folder / "nginx.conf").write_text(MAIN.format(user=user, server=server))
        self.command = [NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"]

    def __enter__(self):
        subprocess.run([*self.command, "-t"], check=True, capture_output=True)
        self.process = start_server(self.command, self.folder / "nginx.log", lambda: listens(self.port))
        return self

    def __exit__(self, *exc_info):
        stop_server(self.process)

    def send(self, request):
        """Send bytes as they are, with TLS. Return head and body of the answer."""
        context = ssl.create_default_context(cafile=self.folder / "tls.pem")
        answer = b""
        with (
            socket.create_connection(("127.0.0.1", self.tls_port), timeout=TIMEOUT) as connection,
            context.wrap_socket(connection, server_hostname="localhost") as tls,
        ):
            tls.sendall(request)
            while received := tls.recv(65536):
                answer += received
        head, _, body = answer.partition(b"\r\n\r\n")
        return head.decode(), body

    @contextmanager
    def client(self, service, **headers):
        headers = {"Host": "localhost", "Authorization": f"Bearer {service.access_token}", **headers}
        base_url = f"https://127.0.0.1:{self.tls_port}"
        with httpx.Client(verify=False, base_url=base_url, headers=headers, timeout=TIMEOUT) as client:
            yield client


@pytest.fixture(scope="module")
def https_service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("https_service")
    variables = {"HTTPS": "1", "SECRET_KEY": "x" * 50, "API_FAILURE_RATE": "5/day", "WEB_CONCURRENCY": "1"}
    with empty_database(folder) as database_url, Service(folder, database_url, **variables) as service:
        yield service


@pytest.fixture(scope="module")
def nginx(https_service, tmp_path_factory):
    with Nginx(tmp_path_factory.mktemp("nginx"), https_service.port) as running:
        yield running


def test_a_batch_of_2_mb_passes(nginx, https_service):
    url = "https://example.com/".ljust(2000, "a")
    with nginx.client(https_service) as client:
        response = client.post("/v1/bookmarks/batch", json={"bookmarks": [{"url": f"{url}{n}"} for n in range(1000)]})

    assert len(response.request.content) > 2_000_000
    assert response.status_code == 200


def test_a_batch_of_8_mib_passes(nginx, https_service):
    body = json.dumps({"bookmarks": []}).ljust(8 * 1024 * 1024)
    with nginx.client(https_service, **{"Content-Type": "application/json"}) as client:
        response = client.post("/v1/bookmarks/batch", content=body)

    assert response.status_code in (200, 400)
    assert "success" in response.json()


def test_a_body_over_the_limit_is_refused_in_json(nginx, https_service):
    with nginx.client(https_service) as client:
        response = client.post("/v1/bookmarks/batch", content=b" " * (8 * 1024 * 1024 + 1))

    assert error_code(response, 413) == "payload_too_large"


def test_the_longest_url_passes(nginx, https_service):
    url = "https://example.com/".ljust(8000, "\N{GRINNING FACE}")
    with nginx.client(https_service) as client:
        made = client.post("/v1/bookmarks", json={"url": url})
    request = (
        f"GET /v1/bookmarks?url={quote(url, safe='')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {https_service.access_token}\r\n\r\n"
    )

    head, body = nginx.send(request.encode())

    assert made.status_code == 201
    assert head.startswith("HTTP/1.1 200 ")
    assert json.loads(body)["bookmarks"] == [made.json()["bookmark"]]


@pytest.mark.parametrize(
    ("head", "statuses"),
    [
        (b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 414}),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 200_000 + b"\r\n\r\n", {400, 431}),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", {400}),
        (b"GET / HTTP/1.1\r\n\r\n", {400}),
        (b"GET\r\n\r\n", {400}),
        (b"GET /nginx-error/400 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", {400}),
    ],
    ids=["long request line", "long header", "bad length", "no host", "no path", "the path of an error"],
)
def test_a_malformed_request_is_refused_in_json(nginx, head, statuses):
    head, body = nginx.send(head)

    assert int(head.split()[1]) in statuses
    assert "Content-Type: application/json" in head
    assert "Cache-Control: no-store" in head
    assert json.loads(body)["errors"][0]["code"] == "bad_request"


@pytest.mark.parametrize("path", ["/v1/bookmarks", "/unknown"])
def test_api_calls_without_https_are_refused(nginx, https_service, path):
    headers = {"Host": "localhost", "Authorization": "Bearer x", "X-Forwarded-Proto": "https"}

    response = httpx.get(f"http://127.0.0.1:{nginx.port}{path}", headers=headers, timeout=TIMEOUT)

    assert (response.status_code, response.json()["errors"][0]["code"]) == (400, "bad_request")


def test_links_have_the_scheme_and_the_host_of_the_client(nginx, https_service):
    with nginx.client(https_service) as client:
        for n in range(2):
            client.post("/v1/bookmarks", json={"url": f"https://example.com/{n}"})
        page = client.get("/v1/bookmarks?limit=1", headers={"X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil"})

    assert page.json()["next"].startswith("https://localhost/v1/bookmarks?")


@pytest.mark.parametrize(
    ("headers", "pattern"), [({"X-Request-ID": "an-id-of-the-client"}, "an-id-of-the-client"), ({}, "[0-9a-f]{32}")]
)
def test_the_request_id_is_passed_through(nginx, https_service, headers, pattern):
    with nginx.client(https_service, **headers) as client:
        [answered] = client.get("/v1/bookmarks").headers.get_list("X-Request-ID")

    assert re.fullmatch(pattern, answered)
    assert f'"request_id": "{answered}"' in https_service.log.read_text()


def test_an_unreachable_service_is_answered_in_json(https_service, tmp_path):
    with Nginx(tmp_path, free_port()) as nginx, nginx.client(https_service) as client:
        response = client.get("/v1/bookmarks")

    assert error_code(response, 502) == "service_unavailable"
    assert int(response.headers["Retry-After"]) > 0


def test_a_timeout_of_the_service_is_answered_in_json(https_service, tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        Nginx(tmp_path, silent.getsockname()[1], read_timeout=1) as nginx,
        nginx.client(https_service) as client,
    ):
        response = client.get("/v1/bookmarks")

    assert error_code(response, 504) == "service_unavailable"


def test_a_forged_address_is_not_counted(nginx, https_service):
    """It comes last, because it exhausts the failures of this address."""
    statuses = []
    for n in range(10):
        headers = {"X-Forwarded-For": f"192.0.2.{n}", "Authorization": "Bearer x"}
        with nginx.client(https_service, **headers) as client:
            statuses.append(client.get("/v1/bookmarks").status_code)

    assert statuses == [401] * 5 + [429] * 5
