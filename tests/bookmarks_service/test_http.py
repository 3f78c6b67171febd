"""The service over real HTTP, for behaviour that depends on the server, its
sockets and several processes.
"""

import json
import socket
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.answers import error_code
from tests.servers import wait_until

pytestmark = pytest.mark.database_independent


@pytest.mark.parametrize("path", ["/v1/./bookmarks", "/v1/../api/user"])
def test_a_path_is_not_normalized(service, path):
    status, body = get(service, path)

    assert status == 404
    assert json.loads(body)["errors"][0]["code"] == "not_found"


@pytest.mark.parametrize("token", ["é".encode(), b"\xff"])
def test_a_token_that_is_not_ascii_is_malformed(service, token):
    answer = service.send(
        b"GET /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Authorization: Bearer " + token + b"\r\n\r\n"
    )

    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b'"authentication_failed"' in answer


# Bodies


def post(service, framing, body, ends=False):
    """Send a request to create a bookmark, with these headers about the body,
    and return what the server sends.
    """
    request = (
        "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        f"{service.access_token}\r\nContent-Type: application/json\r\nConnection: "
        f"close\r\n{framing}\r\n\r\n{body}"
    )
    return service.send(request.encode(), ends=ends)


def test_a_body_over_the_limit_is_refused_before_it_is_sent(service):
    answer = post(service, "Content-Length: 100000000000", "")

    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_that_ends_early_changes_nothing(service):
    """The part that arrives is a complete JSON object."""
    url = "https://example.com/early"

    answer = post(service, "Content-Length: 100", f'{{"url": "{url}"}}', ends=True)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert service.create_bookmark(url=url).status_code == 201


@pytest.mark.parametrize(
    ("path", "media_type", "error"),
    [
        ("bookmarks", "application/json; x*=foo''%41", (400, "required")),
        ("bookmarks", "application/json; charset*=utf-8''%00", (400, "required")),
        ("imports", "text/csv; charset=nope", (415, "unsupported_media_type")),
        # a codec that decodes no bytes
        ("imports", "text/csv; charset=rot13", (415, "unsupported_media_type")),
    ],
    ids=["unknown encoding", "null character", "unknown charset", "no charset"],
)
def test_a_malformed_content_type_is_not_a_server_error(
    service, path, media_type, error
):
    status, code = error
    with service.client() as client:
        headers = {"Content-Type": media_type}
        response = client.post(f"/v1/{path}", content=b"{}", headers=headers)

    assert error_code(response, status) == code


def test_a_query_string_that_is_too_long_for_django_is_not_a_server_error(service):
    parameters = "&".join(["q=1"] * 1001)  # DATA_UPLOAD_MAX_NUMBER_FIELDS is 1,000.

    response = service.request("POST", f"/v1/bookmarks?{parameters}", json={})

    assert error_code(response, 401) == "not_authenticated"


# larger than a packet of the loopback device, so that it arrives in parts
BODY = b"{}".ljust(70_000)
REFUSED = {
    401: ("POST", "/v1/bookmarks", BODY, {"Authorization": "Bearer x"}),
    404: ("POST", "/unknown", BODY, {}),
    405: ("PUT", "/v1/bookmarks", BODY, {}),
    413: ("POST", "/v1/bookmarks", b"{}".ljust(1_100_000), {}),
    415: ("POST", "/v1/bookmarks", BODY, {"Content-Type": "text/plain"}),
}
"""By status, the method, path, body and headers of a request that is refused
before its body is read.
"""


@pytest.mark.parametrize("status", REFUSED)
def test_a_client_can_go_on_after_a_body_that_was_not_read(service, status):
    method, path, content, headers = REFUSED[status]
    with service.client() as client:
        headers = {"Content-Type": "application/json", **headers}
        response = client.request(method, path, content=content, headers=headers)
        assert response.status_code == status
        assert client.get("/v1/bookmarks").status_code == 200


def test_an_upload_that_is_refused_gets_its_answer(service):
    address = "/admin/bookmarks/bookmark/import/"
    file = {"file": ("a.csv", b"a" * 6_000_000)}
    with service.client() as client:
        assert client.post(address, files=file).status_code == 413
        client.get("/admin/login/")
        form = {"username": "operator", "password": service.password}
        token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        client.post("/admin/login/", data={**form, **token})
        token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        refused = client.post(address, files=file, data=token)

    # 5,000,000 bytes, set in conftest.py
    assert "The file is larger than 4.8\xa0MB." in refused.text
    temporary = Path(service.variables["TMPDIR"])
    # The file is removed after the response.
    wait_until(lambda: not list(temporary.glob("*.upload*")))


def test_a_chunked_form_is_not_read(service):
    head = (
        "POST /admin/login/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
        "chunked\r\nConnection: close\r\nContent-Type: "
        "application/x-www-form-urlencoded\r\n\r\n"
    )

    # The body never ends, so an answer shows that nobody waits for it.
    answer = service.send(head.encode() + b"100000\r\n%%%%")

    assert answer.startswith(b"HTTP/1.1 403 ")


# Request lines and headers


def get(service, path, *headers):
    """Send a request as it is, and return the status and the body of the
    answer.
    """
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: localhost",
        *headers,
        f"Authorization: Bearer {service.access_token}",
    ]
    answer = service.send("\r\n".join([*lines, "Connection: close", "", ""]).encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


IGNORED = [
    "SCRIPT_NAME: /v1",
    "PATH_INFO: /admin/login/",
    "REQUEST_METHOD: DELETE",
    "REMOTE_USER: operator",
    "HTTP_HOST: evil.example",
    "HTTP_AUTHORIZATION: Token x",
    "X-Forwarded-For: 192.0.2.1",
    "Forwarded: for=192.0.2.1;proto=https;host=evil.example",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: evil.example",
    "X-Original-URL: /admin/login/",
    "X-HTTP-Method-Override: DELETE",
]
"""Headers that have a meaning for WSGI, servers or proxies.

Here, no proxy is trusted.
"""


def test_no_header_changes_the_path_the_scheme_or_the_method(service):
    """``next`` has the scheme, the host and the path that Django sees."""
    for number in range(2):
        service.create_bookmark(url=f"https://example.com/headers/{number}")

    status, body = get(service, "/v1/bookmarks?limit=1", *IGNORED)

    assert status == 200
    assert json.loads(body)["next"].startswith("http://localhost/v1/bookmarks?")


# Slow clients


CLIENTS = 80  # five times as many as the service has threads


@contextmanager
def slow_clients(service, data):
    """Open connections that send ``data`` and then neither send nor read
    anything. Yield them.
    """
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.socket()) for _ in range(CLIENTS)]
        for client in clients:
            # bytes, so that large answers do not fit
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.connect(("127.0.0.1", service.port))
            client.sendall(data.encode())
        yield clients


def is_disconnected(client):
    """Return whether the service has closed the connection without an answer."""
    try:
        return client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False


HEAD = (
    "POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
    "application/json\r\n"
)
STALLED = {
    "nothing": "",
    "a part of the head": f"{HEAD}X-A: b",
    "a part of a body without a token": f"{HEAD}Content-Length: 100\r\n\r\n{{",
    "requests whose large responses are not read": (
        "GET /schema/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10
    ),
}


@pytest.mark.parametrize("sent", STALLED.values(), ids=STALLED)
def test_stalled_clients_do_not_delay_others(service, sent):
    """A client with a token that sends a body slowly does hold a thread,
    unless a proxy buffers the body.

    The service disconnects a client that sends no head for ten seconds. Calls
    that are answered only after that, as on a slow machine, are repeated,
    because no client was stalled any more.
    """

    def others_are_answered_meanwhile():
        with slow_clients(service, sent) as clients, service.client() as other:
            # Two calls, because the first one could be served before the
            # clients have arrived.
            for _ in range(2):
                response = other.post("/v1/bookmarks", json={"url": "https://a/slow"})
                assert response.status_code in (200, 201)
            # Otherwise, the clients may not have been stalled during the calls.
            return not any(map(is_disconnected, clients))

    wait_until(others_are_answered_meanwhile)


# The log


def test_all_processes_of_the_server_log_json(service):
    lines = [json.loads(line) for line in service.log.read_text().splitlines()]

    # by the main process
    assert any("Starting granian" in line["message"] for line in lines)
    assert any("Started worker" in line["message"] for line in lines)
