"""The nginx configuration in docs/examples/bookmarks_service.conf, in front of
a running service.
"""

import json
import re
import socket
import socketserver
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from urllib.parse import urlencode

import pytest

import bookmarks.access_token_urls
import bookmarks.urls
import usergroups.urls
from tests.answers import error_code
from tests.bookmarks_service.nginx import MIB, Nginx, received
from tests.bookmarks_service.service import (
    Service,
    empty_database,
    new_service,
    server_command,
    workers_have_started,
)
from tests.documents import ROOT, blocks, section
from tests.programs import needs
from tests.servers import TIMEOUT, free_port, start_server, wait_until
from usergroups.api.views import BaseAPIView

pytestmark = [pytest.mark.database_independent, needs("nginx", "openssl")]

BUFFER = 64 * 1024
"""The size of nginx's buffers for headers.

Tests just fill one: nginx may reset a connection with unread data.
"""


SETTINGS = {"BEHIND_TLS_PROXY": "1", "SECRET_KEY": "x" * 50, "GRANIAN_WORKERS": "1"}


@pytest.fixture(scope="module")
def https_service(tmp_path_factory):
    """The service with two threads, which would wait for slow bodies."""
    limits = {"USERGROUPS_FAILURE_RATE": "5/day", "GRANIAN_BLOCKING_THREADS": "2"}
    with new_service(tmp_path_factory, "https", **SETTINGS, **limits) as service:
        yield service


@pytest.fixture(scope="module")
def nginx(https_service, tmp_path_factory):
    with Nginx(
        tmp_path_factory.mktemp("nginx"), f"127.0.0.1:{https_service.port}"
    ) as running:
        yield running


HEAD = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"

MALFORMED = {
    "long request line": (b"GET /".ljust(BUFFER, b"a"), 414),
    "no path": (b"GET\r\n\r\n", 400),
    "no host": (b"GET /v1/bookmarks HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET /v1/bookmarks" + HEAD + b"Host: localhost\r\n\r\n", 400),
    "the null character": (b"GET /v1/%00" + HEAD + b"\r\n", 400),
    "TRACE": (b"TRACE /v1/bookmarks" + HEAD + b"\r\n", 405),
    "negative length": (b"POST /v1/a" + HEAD + b"Content-Length: -1\r\n\r\n", 400),
    "the path of an error": (b"GET /nginx-error/json" + HEAD + b"\r\n", 404),
}


@pytest.mark.parametrize(("sent", "status"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_request_is_refused_in_json(nginx, sent, status):
    head, body = nginx.send(sent)

    assert int(head.split()[1]) == status
    assert "Content-Type: application/json" in head
    assert "Cache-Control: no-store" in head
    assert json.loads(body)["success"] == 0


def test_plain_http_on_the_port_of_https_is_refused_in_json(nginx):
    with socket.create_connection(
        ("127.0.0.1", nginx.tls_port), timeout=TIMEOUT
    ) as connection:
        connection.sendall(b"GET /v1/bookmarks" + HEAD + b"\r\n")
        head, body = received(connection)

    assert head.split()[1] == "400"
    assert json.loads(body)["errors"][0]["code"] == "bad_request"


@pytest.mark.parametrize(
    ("sent", "begins"),
    [
        (("/v1/bookmarks", MIB + 1), b'{"success": 0'),
        (("/v1/imports", 33 * MIB + 1), b'{"success": 0'),
        (("/admin/login/", 9 * MIB), b"<!doctype html>"),
    ],
)
def test_a_large_body_is_refused_in_json_or_on_a_page(
    nginx, https_service, tmp_path, sent, begins
):
    path, size = sent
    headers = {**file_headers(https_service), "Content-Type": "application/json"}

    _, status, body = nginx.curl(path, "1.1", headers, tmp_path, b" " * size)

    assert status == "413"
    assert body.startswith(begins)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/users?limit=1", "application/json"),
        ("/", "text/html; charset=utf-8"),
        ("/admin/bookmarks/bookmark/import/?user_group=1", "text/html; charset=utf-8"),
    ],
)
def test_an_unreachable_service_is_answered_in_json_or_on_a_page(
    nginx_alone, https_service, path, kind
):
    with nginx_alone.client(https_service) as client:
        response = client.get(path)

    assert response.status_code == 502
    assert response.headers["Content-Type"] == kind
    assert "The service cannot be reached." in response.text
    assert int(response.headers["Retry-After"]) > 0


@pytest.fixture(scope="module")
def nginx_alone(tmp_path_factory):
    """Nginx without a service."""
    with Nginx(tmp_path_factory.mktemp("nginx"), f"127.0.0.1:{free_port()}") as running:
        yield running


@pytest.fixture(scope="module")
def nginx_of_bulk(https_service, tmp_path_factory):
    """Nginx that reaches only the second instance."""
    addresses = (f"127.0.0.1:{free_port()}", f"127.0.0.1:{https_service.port}")
    with Nginx(tmp_path_factory.mktemp("nginx"), *addresses) as running:
        yield running


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/api/user"), ("POST", "/v1/bookmarks"), ("PATCH", "/v1/bookmarks/a")],
)
def test_large_bodies_and_those_of_unknown_size_are_sent_to_the_second_instance(
    nginx_of_bulk, https_service, method, path
):
    with nginx_of_bulk.client(https_service) as client:
        responses = [
            client.request(method, path, content=content)
            for content in (b" " * 9_999, b" " * 10_000, iter([b"{}"]))
        ]

    is_bulk = [response.status_code < 500 for response in responses]
    assert is_bulk == [False, True, True]


def test_the_request_id_of_a_client_is_passed_through(nginx, https_service):
    with nginx.client(https_service, **{"X-Request-ID": "the-id"}) as client:
        response = client.get("/v1/bookmarks")

    assert response.headers.get_list("X-Request-ID") == ["the-id"]
    assert '"request_id": "the-id"' in https_service.log.read_text()


def test_the_admin_can_be_used_on_another_port(nginx, https_service):
    host = f"localhost:{nginx.tls_port}"
    with nginx.client(https_service, Host=host, Origin=f"https://{host}") as client:
        form = client.get("/admin/login/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[1]
        response = client.post(
            "/admin/login/",
            data={
                "username": "operator",
                "password": https_service.password,
                "csrfmiddlewaretoken": token,
            },
            headers={"Referer": f"https://{host}/admin/login/"},
        )

    assert response.status_code == 302


def test_a_redirect_to_a_long_url_passes(nginx, https_service):
    with nginx.client(https_service) as client:
        response = client.get("/admin/bookmarks/bookmark/", params={"q": "a" * 8000})

    assert response.status_code == 302
    assert response.headers["Location"].endswith("a" * 8000)


def test_tokens_are_not_logged(nginx, https_service):
    token = https_service.access_token
    large = b" " * (9 * MIB)
    headers = {"X-Request-ID": token, "Referer": f"https://example.com/?{token}"}
    with nginx.client(https_service, **headers) as client:
        client.get("/v1/query", params={"access_token": token})
        client.post("/v1/large", params={"access_token": token}, content=large)
        client.get(f"/v1/bookmarks/{token}")
        client.get(f"/v1/{token.replace('_', '%5F')}")
        client.get("/v1/last")
    wait_until(lambda: '"GET /v1/last HTTP/1.1"' in nginx.logged())

    assert '"GET /v1/query HTTP/1.1" 404' in nginx.logged()
    assert '"POST /v1/large HTTP/1.1" 413' in nginx.logged()
    assert nginx.logged().count('"(a token)" 40') == 2
    assert token[4:] not in nginx.logged()


@pytest.mark.parametrize(
    ("path", "limit"), [("/v1/bookmarks", 300), ("/admin/login/", 4)]
)
def test_the_requests_in_progress_of_an_address_are_limited(
    nginx, https_service, path, limit
):
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(limit):
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", nginx.port))
            )
            connection.sendall(head.encode())
        request = f"GET {path}".encode() + HEAD + b"\r\n"
        wait_until(lambda: nginx.send(request)[0].split()[1] == "429")
        refused, _ = nginx.send(request)
        with nginx.client(https_service, "127.0.0.7") as client:
            other = client.get(path)

    assert "Retry-After: 1" in refused
    assert other.status_code == 200


@pytest.mark.parametrize("name", ["X-Forwarded-Proto", "X_Forwarded_Proto"])
def test_a_client_without_tls_cannot_claim_it(nginx, name):
    request = (
        "GET /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nConnection: "
        f"close\r\n{name}: https\r\n\r\n"
    )

    head, body = nginx.send(request.encode())

    assert head.split()[1] == "400"
    assert b"Use HTTPS." in body


@pytest.mark.parametrize("name", ["X-Forwarded-Proto", "X_Forwarded_Proto"])
def test_a_client_with_tls_cannot_deny_it(nginx, https_service, name):
    with nginx.client(https_service, **{name: "http"}) as client:
        assert client.get("/v1/bookmarks").status_code == 200


@pytest.mark.parametrize(
    ("name", "address"), [("X-Forwarded-For", 8), ("X_Forwarded-For", 9)]
)
def test_a_forged_address_is_not_counted(nginx, https_service, name, address):
    # an address of its own for each name, because failures are counted for a
    # day
    counted = f"127.0.0.{address}"
    statuses = []
    for n in range(7):
        headers = {name: f"192.0.2.{n}", "Authorization": "Bearer x"}
        with nginx.client(https_service, counted, **headers) as client:
            statuses.append(client.get("/v1/bookmarks").status_code)

    # https_service allows five failures per address
    assert statuses == [401] * 5 + [429] * 2


def test_a_file_of_32_mib_passes(nginx, https_service, tmp_path):
    # Lines of spaces are skipped. Longer lines take less time than many short
    # ones.
    bookmark = b'{"url": "https://example.com/file"}'.ljust(1023) + b"\n"
    blank_lines = (b" " * 1023 + b"\n") * (32 * 1024 - 1)
    file = bookmark + blank_lines

    passed = nginx.curl("/v1/imports", "2", file_headers(https_service), tmp_path, file)

    assert passed[:2] == ("2", "200")


def file_headers(service):
    return {
        "Authorization": f"Bearer {service.access_token}",
        "Content-Type": "application/jsonl",
    }


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_a_long_url_passes(nginx, https_service, tmp_path, version):
    url = "https://example.com/".ljust(4000, "\N{GRINNING FACE}")
    with nginx.client(https_service) as client:
        client.post("/v1/bookmarks", json={"url": url})
    query = urlencode({"url": url})  # 48 kB
    headers = {"Authorization": f"Bearer {https_service.access_token}"}

    found = nginx.curl(f"/v1/bookmarks?{query}", version, headers, tmp_path)

    assert found[:2] == (version, "200")
    assert len(json.loads(found[2])["bookmarks"]) == 1


def test_slow_bodies_do_not_occupy_the_service(nginx, https_service):
    head = (
        "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        f"{https_service.access_token}\r\nContent-Type: "
        "application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with nginx.connect() as first, nginx.connect() as second, nginx.connect() as third:
        for connection in (first, second, third):
            connection.sendall(head.encode())
        with nginx.client(https_service) as client:
            # A proxy that passes the bodies on does so before the last call.
            statuses = [
                client.get("/v1/bookmarks", timeout=5).status_code for _ in range(20)
            ]

    assert statuses == [200] * 20


@pytest.mark.parametrize(
    ("rest", "size"),
    [(b"", 1), (b"x\r\n", 2 * MIB)],
    ids=["the end of the connection", "a malformed chunk"],
)
def test_a_chunked_body_that_breaks_off_is_refused(nginx, https_service, rest, size):
    url = f"https://example.com/broken/nginx/{len(rest)}/{size}"
    chunk = (json.dumps({"url": url}) + "\n").encode().ljust(size, b"\n")
    head = (
        "POST /v1/imports HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        f"{https_service.access_token}\r\nContent-Type: "
        f"application/jsonl\r\nTransfer-Encoding: chunked\r\n\r\n{len(chunk):x}\r\n"
    )
    # The proxy may refuse the request before it has the body.
    with nginx.connect() as connection, suppress(OSError):
        connection.sendall(head.encode() + chunk + b"\r\n" + rest)
        if not rest:
            connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):  # until the proxy has given up
            pass
    with nginx.client(https_service, **{"Content-Type": "application/jsonl"}) as client:
        later = client.post("/v1/imports", content=chunk.replace(b"broken", b"later"))
        found = client.get("/v1/bookmarks", params={"url": url})

    assert later.json()["report"]["created"] == 1
    assert found.json()["bookmarks"] == []


def test_links_have_the_host_with_its_port(nginx, https_service):
    with nginx.client(https_service, Host="localhost:8443") as client:
        for n in range(2):
            client.post("/v1/bookmarks", json={"url": f"https://example.com/{n}"})
        page = client.get("/v1/bookmarks?limit=1")

    assert page.json()["next"].startswith("https://localhost:8443/v1/bookmarks?")


def api_views():
    """Return the view of each path of the API, with "a" in place of an id."""
    views = {}
    for module in (usergroups.urls, bookmarks.urls, bookmarks.access_token_urls):
        for pattern in module.urlpatterns:
            view = getattr(pattern.callback, "view_class", None)
            if view is not None and issubclass(view, BaseAPIView):
                views["/" + str(pattern.pattern).replace("<str:id>", "a")] = view
    return views


def takes_more_than_1_mib(view):
    """Return whether a body may be larger, as batches and files are."""
    if "POST" in view.methods_with_query:
        return True
    return any(parser.max_size() > MIB for parser in view.parser_classes)


API_VIEWS = api_views()
COSTLY_PATHS = {path for path, view in API_VIEWS.items() if view.costly_methods}
LARGE_PATHS = {path for path, view in API_VIEWS.items() if takes_more_than_1_mib(view)}


def test_costly_calls_and_large_bodies_are_sent_to_the_second_instance(
    nginx_of_bulk, https_service
):
    with nginx_of_bulk.client(https_service) as client:
        reached = {path for path in API_VIEWS if client.get(path).status_code < 500}

        refused = client.get("/v1/token?access_token=secret")

    assert COSTLY_PATHS
    assert reached == COSTLY_PATHS | LARGE_PATHS
    # The first instance cannot be reached.
    assert refused.status_code in (502, 503)
    assert error_code(refused, refused.status_code) == "service_unavailable"
    assert int(refused.headers["Retry-After"]) > 0
    wait_until(lambda: "/v1/token" in nginx_of_bulk.logged())
    assert "secret" not in nginx_of_bulk.logged()


@pytest.mark.parametrize(
    ("path", "is_bulk"),
    [
        ("/v1/bookmarks?q=a", True),
        ("/v1/bookmarks?limit=1&tag=a", True),
        ("/v1/bookmarks?url=https://example.com/?q", False),
        ("/v1/bookmarks/batches", False),
        ("/admin/bookmarks/bookmark/import/", True),
        ("/admin/login/", True),
        ("/static/admin/css/base.css", False),
    ],
)
def test_searches_and_the_admin_are_sent_to_the_second_instance(
    nginx_of_bulk, https_service, path, is_bulk
):
    with nginx_of_bulk.client(https_service) as client:
        response = client.get(path)

    assert (response.status_code < 500) == is_bulk


def test_bodies_of_files_and_batches_may_exceed_1_mib(nginx, https_service):
    with nginx.client(https_service, **{"Content-Type": "application/json"}) as client:
        passed = {
            path
            for path in LARGE_PATHS
            if client.post(path, content=b" " * (MIB + 1)).status_code != 413
        }

    assert passed == LARGE_PATHS


class ServiceOnASocket(Service):
    """The service on a Unix socket, which only its user and group may use."""

    def start(self):
        self.socket = self.log.with_suffix(".sock")
        variables = {"GRANIAN_UDS": str(self.socket), "GRANIAN_UDS_PERMISSIONS": "0660"}
        self.process = start_server(
            server_command(self.port),
            self.log,
            lambda: workers_have_started(self.log) and self.socket.exists(),
            cwd=ROOT,
            env={**self.environment(), **variables},
        )


def test_the_service_can_listen_on_a_unix_socket(tmp_path):
    variables = {**SETTINGS, "USERGROUPS_FAILURE_RATE": "1/day"}
    with (
        empty_database(tmp_path) as database_url,
        ServiceOnASocket(tmp_path, database_url, **variables) as service,
        Nginx(tmp_path, f"unix:{service.socket}") as nginx,
    ):
        mode = service.socket.stat().st_mode & 0o777
        statuses = []
        for address in ("127.0.0.2", "127.0.0.2", "127.0.0.3"):
            with nginx.client(service, address, Authorization="Bearer x") as client:
                statuses.append(client.get("/v1/bookmarks").status_code)
        with nginx.client(service) as client:
            statuses.append(client.get("/v1/bookmarks").status_code)

    assert mode == 0o660
    assert statuses == [401, 429, 401, 200]  # The address of the client is known.


class NginxBehindAProxy(Nginx):
    """Nginx with the documented lines for another proxy in front, which is
    127.0.0.4.
    """

    def documented(self):
        [directives] = blocks(section("proxies", "A proxy in front of nginx"), "nginx")
        directives = directives.replace("192.0.2.10", "127.0.0.4")
        listen = "listen 80;"
        return super().documented().replace(listen, f"{listen}\n{directives}")


def test_behind_another_proxy_the_addresses_of_clients_are_counted(
    https_service, tmp_path
):
    with NginxBehindAProxy(tmp_path, f"127.0.0.1:{https_service.port}") as nginx:

        def statuses(of_the_connection, forwarded, calls):
            headers = {"X-Forwarded-For": forwarded, "Authorization": "Bearer x"}
            with nginx.client(https_service, of_the_connection, **headers) as client:
                return [client.get("/v1/bookmarks").status_code for _ in range(calls)]

        first = statuses("127.0.0.4", "203.0.113.9, 198.51.100.1", 6)
        second = statuses("127.0.0.4", "203.0.113.9, 198.51.100.2", 1)
        past_the_proxy = statuses("127.0.0.6", "198.51.100.3", 5)
        past_the_proxy += statuses("127.0.0.6", "198.51.100.4", 1)

    assert first == [401] * 5 + [429]
    assert second == [401]
    assert past_the_proxy == [401] * 5 + [429]


class NginxForSeveralHosts(Nginx):
    """Nginx with the documented hosts, of which the first is at ``first_port``,
    where nothing listens by default.
    """

    def __init__(self, folder, address, first_port=None):
        self.first_port = first_port or free_port()
        super().__init__(folder, address)

    def documented(self):
        [upstreams] = blocks(section("scaling", "Several hosts"), "nginx")
        start, rest = super().documented().split("upstream bookmarks_service {")
        return start + upstreams + rest[rest.index("server {\n    listen") :]

    def replacements(self, address, bulk_address):
        replacements = super().replacements(address, bulk_address)
        del replacements["server 127.0.0.1:8000;"]
        del replacements["server 127.0.0.1:8001;"]
        return {
            **replacements,
            "10.0.0.11:8000": f"127.0.0.1:{self.first_port}",
            "10.0.0.11:8001": f"127.0.0.1:{free_port()}",
            "10.0.0.12:8000": address,
            "10.0.0.12:8001": bulk_address,
        }


@pytest.mark.parametrize("path", ["/v1/bookmarks", "/v1/export?format=jsonl"])
def test_a_host_that_cannot_be_reached_is_not_noticed(https_service, tmp_path, path):
    address = f"127.0.0.1:{https_service.port}"
    with (
        NginxForSeveralHosts(tmp_path, address) as nginx,
        nginx.client(https_service) as client,
    ):
        statuses = [client.get(path).status_code for _ in range(4)]

    assert statuses == [200] * 4


@contextmanager
def failing_host():
    """Listen on a port, drop the connection of each request, and yield the
    port and a list of the requests.
    """
    requests = []

    class DropConnection(socketserver.BaseRequestHandler):
        def handle(self):
            requests.append(self.request.recv(BUFFER))

    with socketserver.TCPServer(("127.0.0.1", 0), DropConnection) as server:
        Thread(target=server.serve_forever, args=[0.01]).start()
        try:
            yield server.server_address[1], requests
        finally:
            server.shutdown()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/bookmarks", {"url": "https://example.com/repeated"}, 201),
        ("/v1/collections", {"name": "Not repeated"}, 502),
    ],
    ids=["a new bookmark", "a new collection"],
)
def test_a_post_goes_to_another_host_after_a_failure_if_it_may_be_repeated(
    https_service, tmp_path, path, body, status
):
    address = f"127.0.0.1:{https_service.port}"
    with (
        failing_host() as (failing_port, requests),
        NginxForSeveralHosts(tmp_path, address, failing_port) as nginx,
        nginx.client(https_service) as client,
    ):
        response = client.post(path, json=body)

    assert response.status_code == status
    assert len(requests) == 1
