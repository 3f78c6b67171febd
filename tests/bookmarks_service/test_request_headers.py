"""Headers that have a meaning for WSGI, servers or proxies, sent by a client.

No header changes the path, the scheme or the address of a request, and none causes a server error or an HTML page.
Requests that are not HTTP get the server's own response.
"""

import json

import httpx
import pytest

from tests.bookmarks_service.service import Service, empty_database

# Headers that the service ignores: with each of them, the answer is the same as without.
IGNORED = [
    "SCRIPT_NAME: /zzz",
    "SCRIPT_NAME: /v1",
    "Script-Name: /v1",
    "PATH_INFO: /admin/login/",
    "Path-Info: /admin/login/",
    "RAW_URI: /admin/login/",
    "REQUEST_URI: /admin/login/",
    "SCRIPT_URL: /admin/login/",
    "REDIRECT_URL: /admin/login/",
    "QUERY_STRING: limit=2",
    "REQUEST_METHOD: DELETE",
    "REMOTE_ADDR: 192.0.2.1",
    "Remote-Addr: 192.0.2.1",
    "REMOTE_USER: operator",
    "Remote-User: operator",
    "SERVER_NAME: evil.example",
    "SERVER_PORT: 443",
    "HTTPS: on",
    "wsgi.url_scheme: https",
    "WSGI_URL_SCHEME: https",
    "HTTP_HOST: evil.example",
    "HTTP_AUTHORIZATION: Token x",
    "X_FORWARDED_FOR: 192.0.2.1",
    "X-Forwarded-For: 192.0.2.1",
    "X-Forwarded-For: 192.0.2.1, 192.0.2.2",
    "X-Forwarded-For: " + "1," * 2000,
    "Forwarded: for=192.0.2.1;proto=https;host=evil.example",
    "X-Real-IP: 192.0.2.1",
    "Client-IP: 192.0.2.1",
    "True-Client-IP: 192.0.2.1",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Proto: https\r\nX-Forwarded-Proto: http",
    "X-Forwarded-Protocol: ssl",
    "X-Forwarded-Ssl: on",
    "X-Forwarded-Scheme: https",
    "Front-End-Https: on",
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Port: 443",
    "X-Forwarded-Prefix: /zzz",
    "X-Forwarded-Path: /zzz",
    "X-Original-URL: /admin/login/",
    "X-Rewrite-URL: /admin/login/",
    "X-HTTP-Method-Override: DELETE",
    "Proxy: http://evil.example",
    "Proxy-Authorization: Basic YTpi",
    "Proxy-Connection: close",
    "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
    "Upgrade: websocket",
    "Expect: 100-continue",
    "TE: trailers",
    "Trailer: Host",
    "Keep-Alive: timeout=1000",
    "Content-Length: 0",
    "Content-Type: text/html",
    "X-Sendfile: /etc/passwd",
    "X-Accel-Redirect: /etc/passwd",
    "Range: bytes=0-1",
    "If-None-Match: *",
    "Expect: 200-ok",
    "Content-Length: 2\r\nContent-Length: 2",
    "Content-Length: 2\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked, chunked",
    "Content-Type: application/json\r\nContent-Type: text/html",
    "A: b\nSCRIPT_NAME: /zzz",
]

# Headers that make the request malformed.
REFUSED = [
    "Host: evil.example",
    "Host:",
    "Content-Length: +2",
    "Content-Length: -2",
    "Content-Length: 0x2",
    "Content-Length: 2, 2",
    "Content-Length: 2\r\nContent-Length: 3",
    "Content-Length: two",
    "Content-Length:",
    "Content-Length: \u00b2",
    "Content-Length: " + "9" * 5000,
    "Transfer-Encoding: identity",
    "Transfer-Encoding: gzip",
    "Transfer-Encoding: unknown",
    "Transfer-Encoding: chunked, gzip",
    "Transfer-Encoding: \x0bchunked",
    "Transfer-Encoding : chunked",
    "A : b",
    ": b",
    "A",
    " A: b",
    "A: b\r\n folded",
    "A: \0",
    "A\u00e9: b",
]


def ids(headers):
    return [ascii(header[:40])[1:-1] for header in headers]


@pytest.fixture(scope="module")
def two_bookmarks(service):
    for n in range(2):
        service.create_bookmark(url=f"https://example.com/headers/{n}")


def get(service, path, *headers):
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *headers, f"Authorization: Bearer {service.access_token}"]
    request = "\r\n".join([*lines, "Connection: close", "", ""])
    answer = service.send(request.encode("latin-1")).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode(), body


@pytest.mark.parametrize("header", IGNORED, ids=ids(IGNORED))
def test_ignored_headers_do_not_change_the_answer(service, two_bookmarks, header):
    """``next`` has the scheme, the host and the path that Django sees."""
    expected = get(service, "/v1/bookmarks?limit=1")

    status, head, body = get(service, "/v1/bookmarks?limit=1", header)

    assert (status, body) == (expected[0], expected[2])
    assert json.loads(body)["next"].startswith("http://localhost/v1/bookmarks?")
    assert "content-type: application/json" in head


@pytest.mark.parametrize("header", IGNORED, ids=ids(IGNORED))
def test_a_script_name_does_not_lead_to_another_page(service, header):
    """A proxy that protects /admin/ by its path must see the same path as Django."""
    for path in ("/static/..x/admin/login/", "/zzz/admin/login/"):
        status, _, body = get(service, path, header, f"SCRIPT_NAME: {path.removesuffix('/admin/login/')}")

        assert status == 404
        assert b"csrfmiddlewaretoken" not in body


@pytest.mark.parametrize("header", REFUSED, ids=ids(REFUSED))
@pytest.mark.parametrize("path", ["/v1/bookmarks", "/unknown", "/admin/login/"])
def test_a_malformed_request_is_refused(service, header, path):
    status, _, body = get(service, path, header)

    assert status == 400
    assert b"html" not in body or path == "/admin/login/"


@pytest.mark.parametrize(
    "request_line",
    ["GET", "GET /", "GET / HTTP/9.9", "GET / HTTP/1.1 x", "G@T / HTTP/1.1", "GET /\u00e9 HTTP/1.1",
     "GET http://[ HTTP/1.1", "PRI * HTTP/2.0", "\x16\x03\x01 / HTTP/1.1"],
)  # fmt: skip
def test_a_malformed_request_line_is_refused(service, request_line):
    answer = service.send(f"{request_line}\r\nHost: localhost\r\n\r\n".encode("latin-1"))

    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.once
def test_no_header_changes_the_address(tmp_path):
    """Failed authentications are counted by address, so a forged address would avoid the limit."""
    variables = {"USERGROUPS_FAILURE_RATE": "3/day", "GRANIAN_WORKERS": "1"}
    with empty_database(tmp_path) as database_url, Service(tmp_path, database_url, **variables) as service:
        bad = {"Authorization": "Bearer x"}
        for _ in range(10):
            limited = httpx.get(f"{service.base_url}/v1/bookmarks", headers=bad, timeout=60)
        service.access_token = "x"

        assert limited.status_code == 429
        assert {get(service, "/v1/bookmarks", header)[0] for header in IGNORED} == {429}
