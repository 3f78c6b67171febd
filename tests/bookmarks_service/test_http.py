"""The service over real HTTP, for behaviour that depends on the server, its sockets and several processes."""

import gzip
import json
import subprocess
from urllib.parse import quote

import pytest

from tests.answers import error_code
from tests.bookmarks_service.service import Service, empty_database
from tests.servers import TIMEOUT

pytestmark = pytest.mark.once


def test_the_printed_curl_commands_work(service):
    for command in service.curls:
        answer = subprocess.run(["bash", "-c", f"{command} -sS"], capture_output=True, check=True, timeout=TIMEOUT)

        assert json.loads(answer.stdout)["success"] == 1
    assert len(service.curls) == 2


PATHS = ["/unknown", "/v1//bookmarks", "/v1/bookmarks%2F", "/v1/./bookmarks", "/V1/bookmarks", "/v1/../api/user",
         "/%ff"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_not_normalized_and_unknown_ones_are_answered_in_json(service, path):
    status, _, body = get(service, path)

    assert status == 404
    assert json.loads(body)["errors"][0]["code"] == "not_found"


# Bodies


def post(service, framing, body, ends=False):
    """Send a request to create a bookmark, with these headers about the body, and return what the server sends."""
    request = (
        f"POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.access_token}\r\n"
        f"Content-Type: application/json\r\nConnection: close\r\n{framing}\r\n\r\n{body}"
    )
    return service.send(request.encode(), ends=ends)


def test_a_chunked_body_is_read(service):
    body = '{"url": "https://example.com/chunked"}'

    answer = post(service, "Transfer-Encoding: chunked", f"{len(body):x}\r\n{body}\r\n0\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 201 ")


def test_a_chunked_body_over_the_limit_is_refused(service):
    headers = {"Authorization": f"Bearer {service.access_token}", "Content-Type": "application/json"}

    response = service.request("POST", "/v1/bookmarks", content=iter([b" " * 65536] * 17), headers=headers)

    assert error_code(response, 413) == "payload_too_large"


def test_a_body_over_the_limit_is_refused_before_it_is_sent(service):
    assert post(service, "Content-Length: 100000000000", "").startswith(b"HTTP/1.1 413 ")


def test_a_body_that_ends_early_changes_nothing(service):
    """The part that arrives is a complete JSON object."""
    url = "https://example.com/early"

    answer = post(service, "Content-Length: 100", f'{{"url": "{url}"}}', ends=True)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert service.create_bookmark(url=url).status_code == 201


def test_a_compressed_body_is_refused(service):
    headers = {"Authorization": f"Bearer {service.access_token}", "Content-Encoding": "gzip"}
    body = gzip.compress(b'{"url": "https://example.com/"}')

    response = service.request(
        "POST", "/v1/bookmarks", content=body, headers={**headers, "Content-Type": "application/json"}
    )

    assert error_code(response, 400) == "parse_error"


@pytest.mark.parametrize("parameters", ["x*=foo''%41", "x*=idna''%ff%41"])
def test_a_malformed_content_type_is_not_a_server_error(service, parameters):
    headers = {"Authorization": f"Bearer {service.access_token}", "Content-Type": f"application/json; {parameters}"}

    response = service.request("POST", "/v1/bookmarks", content=b"{}", headers=headers)

    assert error_code(response, 400) == "required"


# Heads


def get(service, path, *headers, authorization=None):
    """Send a request as it is, and return the status, the head and the body of the answer."""
    authorization = authorization or f"Bearer {service.access_token}"
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *headers, f"Authorization: {authorization}"]
    answer = service.send("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head, body


IGNORED = [
    "SCRIPT_NAME: /v1",
    "Script-Name: /v1",
    "PATH_INFO: /admin/login/",
    "REQUEST_URI: /admin/login/",
    "REQUEST_METHOD: DELETE",
    "REMOTE_ADDR: 192.0.2.1",
    "REMOTE_USER: operator",
    "HTTP_HOST: evil.example",
    "HTTP_AUTHORIZATION: Token x",
    "X_FORWARDED_FOR: 192.0.2.1",
    "X-Forwarded-For: 192.0.2.1",
    "Forwarded: for=192.0.2.1;proto=https;host=evil.example",
    "X-Real-IP: 192.0.2.1",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: evil.example",
    "X-Original-URL: /admin/login/",
    "X-HTTP-Method-Override: DELETE",
]
"""Headers that have a meaning for WSGI, servers or proxies. Here, no proxy is trusted."""


@pytest.mark.parametrize("header", IGNORED)
def test_no_header_changes_the_path_the_scheme_or_the_method(service, header):
    """``next`` has the scheme, the host and the path that Django sees."""
    for number in range(2):
        service.create_bookmark(url=f"https://example.com/headers/{number}")

    status, _, body = get(service, "/v1/bookmarks?limit=1", header)

    assert status == 200
    assert json.loads(body)["next"].startswith("http://localhost/v1/bookmarks?")


def test_no_header_changes_the_address(tmp_path):
    """Failed authentications are counted by address, so a forged address would avoid the limit."""
    limits = {"USERGROUPS_FAILURE_RATE": "3/day", "GRANIAN_WORKERS": "1"}
    with empty_database(tmp_path) as database_url, Service(tmp_path, database_url, **limits) as service:
        statuses = [get(service, "/v1/bookmarks", header, authorization="Bearer x")[0] for header in IGNORED]

    assert statuses == [401] * 3 + [429] * (len(IGNORED) - 3)


@pytest.mark.parametrize("value", ["Bearer \xff\xfe", "Bearer \u00fc", "Bearer x\r\nAuthorization: Bearer y"])
def test_an_authorization_that_is_not_one_text_is_refused(service, value):
    assert get(service, "/v1/bookmarks", authorization=value)[0] == 401


def test_a_long_url_can_be_searched_for(service):
    """A request line of up to 65,534 bytes holds 8,000 ASCII characters, or 5,000 of four bytes, percent-encoded."""
    url = "https://example.com/".ljust(5000, "\N{GRINNING FACE}")
    made = service.create_bookmark(url=url)

    _, _, body = get(service, f"/v1/bookmarks?url={quote(url, safe='')}")

    assert json.loads(body)["bookmarks"] == [made.json()["bookmark"]]


def test_tokens_are_not_logged(service):
    service.send(f"GET / HTTP/1.1\r\nAuthorization Bearer {service.access_token}\r\n\r\n".encode())
    service.request("GET", f"/v1/{service.access_token}", headers={"X-Request-ID": service.access_token})
    service.request("POST", "/v1/bookmarks", headers={"Authorization": f"Token {service.access_token}"})

    log = service.log.read_text()
    assert "/v1/bma_(a token)" in log
    assert service.access_token not in log
