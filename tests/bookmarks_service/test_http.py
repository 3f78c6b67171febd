"""The service over real HTTP, for behaviour that depends on the server, its sockets and several processes."""

import ast
import gzip
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import httpx
import pytest
from django.db import connection

from tests.answers import error_code
from tests.bookmarks_service.service import Service, empty_database
from tests.servers import TIMEOUT

CALLERS = 32


def test_the_printed_curl_commands_work(service):
    for command in service.curls:
        answer = subprocess.run(["bash", "-c", f"{command} -sS"], capture_output=True, check=True, timeout=TIMEOUT)

        assert json.loads(answer.stdout)["success"] == 1
    assert len(service.curls) == 2


def test_concurrent_updates_of_different_fields_are_all_kept(service):
    """Each caller updates one field. A lost update would leave the old value."""
    fields = ["name", "mapping", "properties"]
    values = {"name": "Concurrent", "mapping": {"concurrent": 1}, "properties": {"concurrent": 1}}
    service.update_user_group(name="Before", mapping=None, properties=None)

    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(service.update_user_group, **{field: values[field]}) for field in fields * 11][:CALLERS]
        answers = [call.result() for call in calls]

    assert {answer.status_code for answer in answers} == {200}
    show = (
        "from usergroups.models import UserGroup; group = UserGroup.objects.get(provided_id='example_1'); "
        f"print({{name: getattr(group, name) for name in {fields}}})"
    )
    after = service.manage("shell", "--no-imports", "-c", show).stdout
    assert ast.literal_eval(after) == values


def test_concurrent_posts_of_one_url_make_one_bookmark(service):
    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(service.create_bookmark, url="https://example.com/concurrent") for _ in range(CALLERS)]
        answers = [call.result() for call in calls]

    assert sorted(answer.status_code for answer in answers) == [200] * (CALLERS - 1) + [201]
    assert len({answer.json()["bookmark"]["id"] for answer in answers}) == 1


def test_unknown_paths_are_answered_in_json(service):
    assert error_code(service.request("POST", "/unknown"), 404) == "not_found"


PATHS = ["/v1//bookmarks", "/v1/bookmarks%2F", "/v1/./bookmarks", "/V1/bookmarks", "/v1/../api/user", "/%ff"]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_not_normalized(service, path):
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


def test_a_script_name_does_not_lead_to_the_admin(service):
    """A proxy that protects /admin/ by its path must see the same path as Django."""
    status, _, body = get(service, "/static/..x/admin/login/", "SCRIPT_NAME: /static/..x")

    assert status == 404
    assert b"csrfmiddlewaretoken" not in body


@pytest.mark.once
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


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 1_000_000 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: a\r\n" * 200, 431),
        (b"GET / HTTP/1.1\r\nA\r\n", 400),
    ],
    ids=["long request line", "long head", "many headers", "not HTTP"],
)
def test_the_server_refuses_what_is_over_its_limits(service, request_head, status):
    assert service.send(request_head + b"\r\n").startswith(b"HTTP/1.1 %d " % status)


def test_tokens_are_not_logged(service):
    service.send(f"GET / HTTP/1.1\r\nAuthorization Bearer {service.access_token}\r\n\r\n".encode())
    service.request("GET", f"/v1/{service.access_token}", headers={"X-Request-ID": service.access_token})
    service.request("POST", "/v1/bookmarks", headers={"Authorization": f"Token {service.access_token}"})

    log = service.log.read_text()
    assert "/v1/bma_(a token)" in log
    assert service.access_token not in log


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite does not list its connections.")
def test_database_connections_are_reused(service):
    import psycopg  # noqa: PLC0415

    def backends():
        with psycopg.connect(service.database_url) as other:
            sql = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            return {pid for (pid,) in other.execute(sql)}

    service.create_bookmark(url="https://example.com/")
    before = backends()
    for _ in range(20):
        service.create_bookmark(url="https://example.com/")

    assert before
    assert before <= backends()


# The pages


def test_the_pages_are_served(service):
    with httpx.Client(base_url=service.base_url, timeout=TIMEOUT, follow_redirects=True) as client:
        assert "bookmarks_service" in client.get("/").text
        assert client.get("/schema/").text.startswith("openapi: 3.")
        assert client.get("/admin").url.path == "/admin/login/"
        assert client.get("/docs").url.path == "/docs/"


def test_the_docs_load_nothing_from_other_hosts(service):
    page = service.request("GET", "/docs/").text

    addresses = re.findall(r"""["']((?:https?:)?//[^"']+|/static/[^"']+)""", page)
    assert addresses
    for address in addresses:
        assert address.startswith("/static/")
        assert service.request("GET", address).status_code == 200


def test_the_operator_can_log_in(service):
    with httpx.Client(base_url=service.base_url, timeout=TIMEOUT, follow_redirects=True) as client:
        client.get("/admin/login/")
        form = {
            "username": "operator",
            "password": service.password,
            "csrfmiddlewaretoken": client.cookies["csrftoken"],
        }
        page = client.post("/admin/login/?next=/admin/", data=form)

        assert page.url.path == "/admin/"
        assert client.get("/admin/usergroups/usergroup/").status_code == 200
