"""The documented configurations of several proxies: what each must do for the
service.
"""

import json
import socket
from contextlib import suppress
from urllib.parse import urlencode

import pytest

from bookmarks_service.urls import urlpatterns
from tests.answers import error_code
from tests.bookmarks_service.proxies import MIB, Caddy, Nginx
from tests.bookmarks_service.service import (
    Service,
    empty_database,
    server_command,
    workers_have_started,
)
from tests.documents import ROOT
from tests.programs import needs, require
from tests.servers import free_port, start_server, wait_until
from usergroups.api.views import BaseAPIView

pytestmark = pytest.mark.database_independent

PROXIES = [Nginx, Caddy]

SETTINGS = {"BEHIND_TLS_PROXY": "1", "SECRET_KEY": "x" * 50, "GRANIAN_WORKERS": "1"}


@pytest.fixture(scope="module")
def behind_tls(tmp_path_factory):
    """The service with two threads, which would wait for slow bodies."""
    folder = tmp_path_factory.mktemp("behind_tls")
    limits = {"USERGROUPS_FAILURE_RATE": "5/day", "GRANIAN_BLOCKING_THREADS": "2"}
    with (
        empty_database(folder) as database_url,
        Service(folder, database_url, **SETTINGS, **limits) as service,
    ):
        yield service


@pytest.fixture(
    scope="module", params=PROXIES, ids=[proxy.program for proxy in PROXIES]
)
def proxy(request, behind_tls, tmp_path_factory):
    require(request.param.program, "openssl")
    address = f"127.0.0.1:{behind_tls.port}"
    with request.param(tmp_path_factory.mktemp("proxy"), address) as running:
        yield running


@pytest.mark.parametrize("name", ["X-Forwarded-Proto", "X_Forwarded_Proto"])
def test_a_client_without_tls_cannot_claim_it(proxy, name):
    request = (
        "GET /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nConnection: "
        f"close\r\n{name}: https\r\n\r\n"
    )

    head, body = proxy.send(request.encode())

    assert head.split()[1] == "400"
    assert b"Use HTTPS." in body


@pytest.mark.parametrize("name", ["X-Forwarded-Proto", "X_Forwarded_Proto"])
def test_a_client_with_tls_cannot_deny_it(proxy, behind_tls, name):
    with proxy.client(behind_tls, **{name: "http"}) as client:
        assert client.get("/v1/bookmarks").status_code == 200


@pytest.mark.parametrize(
    ("name", "address"), [("X-Forwarded-For", 5), ("X_Forwarded-For", 6)]
)
def test_a_forged_address_is_not_counted(proxy, behind_tls, name, address):
    # an address of its own for each proxy and name, because failures are
    # counted for a day
    counted = f"127.0.{1 + PROXIES.index(type(proxy))}.{address}"
    statuses = []
    for n in range(7):
        headers = {name: f"192.0.2.{n}", "Authorization": "Bearer x"}
        with proxy.client(behind_tls, counted, **headers) as client:
            statuses.append(client.get("/v1/bookmarks").status_code)

    # behind_tls allows five failures per address
    assert statuses == [401] * 5 + [429] * 2


def test_a_file_of_32_mib_passes(proxy, behind_tls, tmp_path):
    # Lines of spaces are skipped. Longer lines take less time than many short
    # ones.
    bookmark = b'{"url": "https://example.com/file"}'.ljust(1023) + b"\n"
    blank_lines = (b" " * 1023 + b"\n") * (32 * 1024 - 1)
    file = bookmark + blank_lines

    passed = proxy.curl("/v1/imports", "2", file_headers(behind_tls), tmp_path, file)

    assert passed[:2] == ("2", "200")


def test_a_file_of_over_33_mib_is_refused_in_json(proxy, behind_tls, tmp_path):
    file = b"\n" * (33 * MIB + 1)

    _, status, body = proxy.curl(
        "/v1/imports", "1.1", file_headers(behind_tls), tmp_path, file
    )

    assert status == "413"
    assert json.loads(body)["errors"][0]["code"] == "payload_too_large"


def file_headers(service):
    return {
        "Authorization": f"Bearer {service.access_token}",
        "Content-Type": "application/jsonl",
    }


def test_a_call_of_more_than_1_mib_is_refused_in_json(proxy, behind_tls):
    with proxy.client(behind_tls, **{"Content-Type": "application/json"}) as client:
        refused = client.post("/v1/bookmarks", content=b" " * (MIB + 1))

    assert error_code(refused, 413) == "payload_too_large"


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_a_long_url_passes(proxy, behind_tls, tmp_path, version):
    url = "https://example.com/".ljust(4000, "\N{GRINNING FACE}")
    with proxy.client(behind_tls) as client:
        client.post("/v1/bookmarks", json={"url": url})
    query = urlencode({"url": url})  # 48 kB
    headers = {"Authorization": f"Bearer {behind_tls.access_token}"}

    found = proxy.curl(f"/v1/bookmarks?{query}", version, headers, tmp_path)

    assert found[:2] == (version, "200")
    assert len(json.loads(found[2])["bookmarks"]) == 1


def test_slow_bodies_do_not_occupy_the_service(proxy, behind_tls):
    head = (
        "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        f"{behind_tls.access_token}\r\nContent-Type: "
        "application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with proxy.connect() as first, proxy.connect() as second, proxy.connect() as third:
        for connection in (first, second, third):
            connection.sendall(head.encode())
        with proxy.client(behind_tls) as client:
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
def test_a_chunked_body_that_breaks_off_is_refused(proxy, behind_tls, rest, size):
    url = f"https://example.com/broken/{proxy.program}/{len(rest)}/{size}"
    chunk = (json.dumps({"url": url}) + "\n").encode().ljust(size, b"\n")
    head = (
        "POST /v1/imports HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        f"{behind_tls.access_token}\r\nContent-Type: "
        f"application/jsonl\r\nTransfer-Encoding: chunked\r\n\r\n{len(chunk):x}\r\n"
    )
    # The proxy may refuse the request before it has the body.
    with proxy.connect() as connection, suppress(OSError):
        connection.sendall(head.encode() + chunk + b"\r\n" + rest)
        if not rest:
            connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):  # until the proxy has given up
            pass
    with proxy.client(behind_tls, **{"Content-Type": "application/jsonl"}) as client:
        later = client.post("/v1/imports", content=chunk.replace(b"broken", b"later"))
        found = client.get("/v1/bookmarks", params={"url": url})

    assert later.json()["report"]["created"] == 1
    assert found.json()["bookmarks"] == []


@pytest.mark.parametrize("proxy", [Caddy], ids=["caddy"], indirect=True)
def test_caddy_needs_the_length_of_a_file(proxy, behind_tls):
    with proxy.client(behind_tls, **{"Content-Type": "application/jsonl"}) as client:
        response = client.post("/v1/imports", content=iter([b"{}"]))

    assert error_code(response, 411) == "bad_request"


def test_links_have_the_host_with_its_port(proxy, behind_tls):
    with proxy.client(behind_tls, Host="localhost:8443") as client:
        for n in range(2):
            client.post("/v1/bookmarks", json={"url": f"https://example.com/{n}"})
        page = client.get("/v1/bookmarks?limit=1")

    assert page.json()["next"].startswith("https://localhost:8443/v1/bookmarks?")


def test_query_strings_and_the_referer_are_not_logged(proxy, behind_tls):
    marker = f"/v1/bookmarks/{proxy.program}"
    with proxy.client(behind_tls, Referer="https://example.com/?secret-1") as client:
        client.get(f"{marker}?access_token=secret-2")
    wait_until(lambda: marker in proxy.logged())

    assert "secret" not in proxy.logged()


@pytest.fixture(
    scope="module", params=PROXIES, ids=[proxy.program for proxy in PROXIES]
)
def proxy_of_bulk(request, behind_tls, tmp_path_factory):
    """A proxy that reaches only the second instance."""
    require(request.param.program, "openssl")
    addresses = (f"127.0.0.1:{free_port()}", f"127.0.0.1:{behind_tls.port}")
    with request.param(tmp_path_factory.mktemp("proxy"), *addresses) as running:
        yield running


def api_views():
    """Return the view of each path of the API, with "a" in place of an id."""
    views = {}
    for included in urlpatterns:
        for pattern in getattr(included, "url_patterns", []):
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
    proxy_of_bulk, behind_tls
):
    with proxy_of_bulk.client(behind_tls) as client:
        reached = {path for path in API_VIEWS if client.get(path).status_code < 500}

        refused = client.get("/v1/token?access_token=secret")

    assert COSTLY_PATHS
    assert reached == COSTLY_PATHS | LARGE_PATHS
    # The first instance cannot be reached.
    assert refused.status_code in (502, 503)
    assert error_code(refused, refused.status_code) == "service_unavailable"
    assert int(refused.headers["Retry-After"]) > 0
    wait_until(lambda: "/v1/token" in proxy_of_bulk.logged())
    assert "secret" not in proxy_of_bulk.logged()


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
    proxy_of_bulk, behind_tls, path, is_bulk
):
    with proxy_of_bulk.client(behind_tls) as client:
        response = client.get(path)

    assert (response.status_code < 500) == is_bulk


def test_bodies_of_files_and_batches_may_exceed_1_mib(proxy, behind_tls):
    with proxy.client(behind_tls, **{"Content-Type": "application/json"}) as client:
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
        variables = {
            "GRANIAN_UDS": str(self.socket),
            "GRANIAN_UDS_PERMISSIONS": "0660",
        }
        self.process = start_server(
            server_command(self.port),
            self.log,
            lambda: workers_have_started(self.log) and self.socket.exists(),
            cwd=ROOT,
            env={**self.environment(), **variables},
        )


@needs("nginx", "openssl")
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
