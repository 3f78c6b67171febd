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
        "from usergroups.models import UserGroup; group = UserGroup.objects.get(); "
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


@pytest.mark.parametrize(
    "path", ["/unknown", "/api", "/api/user/", "//api/user", "/v1/bookmarks/", "/v2/bookmarks", "/%ff"]
)
def test_unknown_paths_are_answered_in_json(service, path):
    assert error_code(service.request("POST", path), 404) == "not_found"


@pytest.mark.parametrize("path", ["/api/user", "/unknown"])
def test_a_wrong_host_is_answered_in_json(service, path):
    assert error_code(service.request("GET", path, headers={"Host": "evil.example"}), 400) == "bad_request"


def test_a_wrong_host_has_an_error_page_on_the_start_page(service):
    response = service.request("GET", "/", headers={"Host": "evil.example"})

    assert (response.status_code, response.headers["Content-Type"]) == (400, "text/html; charset=utf-8")


def chunked(*chunks):
    yield from chunks


def chunked_post(service, *chunks):
    headers = {"Authorization": f"Bearer {service.access_token}", "Content-Type": "application/json"}
    return service.request("POST", "/v1/bookmarks", content=chunked(*chunks), headers=headers)


def test_a_chunked_body_is_read(service):
    response = chunked_post(service, b'{"url": "https://exam', b'ple.com/chunked"}')

    assert response.status_code == 201


def test_a_chunked_body_over_the_limit_is_refused(service):
    assert error_code(chunked_post(service, *[b" " * 65536] * 17), 413) == "payload_too_large"


def test_a_body_over_the_limit_is_refused_before_it_is_sent(service):
    request = (
        f"POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.access_token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100000000000\r\nConnection: close\r\n\r\n"
    )

    assert service.send(request.encode()).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_ends_early_changes_nothing(service):
    """The part that arrives is a complete JSON object."""
    url = "https://example.com/early"
    request = (
        f"POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.access_token}\r\n"
        f'Content-Type: application/json\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{{"url": "{url}"}}'
    )

    assert service.send(request.encode(), ends=True).startswith(b"HTTP/1.1 400 ")
    assert service.create_bookmark(url=url).status_code == 201


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\nabc\r\n",
        b"-5\r\nabc\r\n",
        b"5\r\nabcdefgh\r\n0\r\n\r\n",
        b"1c;foo=\n\r\n",
        b"2\r\n{}\r\n0\r\nbad trailer\r\n\r\n",
        b"2\r\n{}\r\n0\r\nA: " + b"a" * 100_000 + b"\r\n\r\n",
    ],
    ids=["no size", "negative size", "longer than its size", "bad extension", "bad trailer", "long trailer"],
)
def test_a_badly_chunked_body_is_refused(service, body):
    request = (
        f"POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.access_token}\r\n"
        "Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    )

    assert service.send(request.encode() + body).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "parameters",
    ["x*=foo''%41", "charset*=foo''a", "x*0*=foo''a", "x*=a'b'c'd", "x*=idna''%ff%41"],
)
@pytest.mark.parametrize(
    ("path", "status", "code"), [("/v1/bookmarks", 400, "required"), ("/unknown", 404, "not_found")]
)
def test_a_malformed_content_type_is_not_a_server_error(service, path, status, code, parameters):
    headers = {"Authorization": f"Bearer {service.access_token}", "Content-Type": f"application/json; {parameters}"}

    response = service.request("POST", path, content=b"{}", headers=headers)

    assert error_code(response, status) == code


@pytest.mark.parametrize("path", ["/", "/docs", "/docs/", "/schema", "/schema/", "/admin"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_pages_allow_only_get_and_head(service, path, method):
    response = service.request(method, path)

    assert error_code(response, 405) == "method_not_allowed"
    assert response.headers["Allow"] == "GET, HEAD"


def test_the_pages_ignore_basic_authentication(service):
    assert service.request("GET", "/schema/", auth=("a\0b", "c")).status_code == 200


def test_a_long_url_can_be_searched_for(service):
    """A request line of up to 65,534 bytes holds 8,000 ASCII characters, or 5,000 of four bytes, percent-encoded."""
    url = "https://example.com/".ljust(5000, "\N{GRINNING FACE}")
    made = service.create_bookmark(url=url)
    request = (
        f"GET /v1/bookmarks?url={quote(url, safe='')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {service.access_token}\r\n\r\n"
    )

    found = service.send(request.encode())

    assert made.status_code == 201
    assert len(request) > 59_000
    assert json.loads(found.partition(b"\r\n\r\n")[2])["bookmarks"] == [made.json()["bookmark"]]


def test_a_longer_request_line_is_refused(service):
    assert service.send(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 414 ")


@pytest.mark.parametrize("value", [b"Bearer \xff\xfe", b"Bearer \x80" * 100, b"\xff", "Bearer ü".encode()])
def test_header_values_that_are_not_text_are_refused(service, value):
    request = (
        b"POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nConnection: close\r\n\r\n" % value
    )

    assert service.send(request).startswith(b"HTTP/1.1 401 ")


def test_several_authorization_headers_are_refused(service):
    header = f"Authorization: Bearer {service.access_token}\r\n"
    request = f"POST /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\n{header}{header}Connection: close\r\n\r\n"

    assert service.send(request.encode()).startswith(b"HTTP/1.1 401 ")


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite does not list its connections.")
def test_database_connections_are_reused(service):
    import psycopg  # noqa: PLC0415

    def backends():
        with psycopg.connect(service.database_url) as other:
            sql = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            return {pid for (pid,) in other.execute(sql)}

    with httpx.Client(timeout=TIMEOUT) as client:  # One connection is served by one process.
        service.create_bookmark(client, url="https://example.com/")
        before = backends()
        for _ in range(50):
            service.create_bookmark(client, url="https://example.com/")
    assert before
    assert before <= backends()


# The pages


def test_the_pages_are_served(service):
    with httpx.Client(base_url=service.base_url, timeout=TIMEOUT) as client:
        assert "bookmarks_service" in client.get("/").text
        assert client.get("/schema/").text.startswith("openapi: 3.")
        assert "/static/drf_spectacular_sidecar/" in client.get("/docs/").text
        assert client.get("/admin", follow_redirects=True).url.path == "/admin/login/"
        assert client.get("/docs", follow_redirects=True).url.path == "/docs/"


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
        assert "text/html" in client.get("/admin/unknown/").headers["Content-Type"]


def test_nothing_secret_is_logged(service):
    service.create_bookmark(url="https://example.com/logged")
    service.request("POST", "/v1/bookmarks", headers={"Authorization": f"Token {service.access_token}"})

    log = service.log.read_text()
    assert '"status": 401' in log
    assert service.access_token not in log
    assert service.api_token not in log


# Malformed and hostile requests


def test_a_malformed_request_is_logged_without_its_content(service):
    answer = service.send(f"GET / HTTP/1.1\r\nAuthorization Bearer {service.access_token}\r\n\r\n".encode())
    service.request("GET", f"/v1/{service.access_token}", headers={"X-Request-ID": service.access_token})

    log = service.log.read_text()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert "/v1/bma_(a token)" in log
    assert service.access_token not in log


def test_contradicting_scheme_headers_are_not_refused(service):
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "off"}

    assert service.request("GET", "/livez", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("method", "header", "status", "body_start"),
    [
        ("HEAD", "A: b", 200, b""),
        ("OPTIONS", "A: b", 405, b'{"success":'),
        ("TRACE", "A: b", 405, b'{"success":'),
        ("TRACE", "X-HTTP-Method-Override: GET", 405, b'{"success":'),
        ("GET", "X-HTTP-Method-Override: TRACE", 200, b'{"success":'),
    ],
)
def test_the_method_is_that_of_the_request_line(service, method, header, status, body_start):
    request = (
        f"{method} /v1/bookmarks?limit=1 HTTP/1.1\r\nHost: localhost\r\n{header}\r\nConnection: close\r\n"
        f"Authorization: Bearer {service.access_token}\r\n\r\n"
    )

    head, _, body = service.send(request.encode()).partition(b"\r\n\r\n")

    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"content-type: application/json" in head
    assert body[:11] == body_start


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_a_compressed_body_is_refused(service, coding):
    headers = {"Authorization": f"Bearer {service.access_token}", "Content-Encoding": coding}
    body = gzip.compress(b'{"url": "https://example.com/"}')

    response = service.request(
        "POST",
        "/v1/bookmarks",
        content=body,
        headers={**headers, "Content-Type": "application/json"},
    )

    assert error_code(response, 400) == "parse_error"


@pytest.mark.parametrize(
    "path", ["/v1//bookmarks", "//v1/bookmarks", "/v1/bookmarks%2F", "/v1%2Fbookmarks/x", "/v1/./bookmarks",
             "/V1/bookmarks", "/v1/bookmarks;x", "/v1/../api/user", "/%2e%2e/v1/bookmarks", "/v1/bookmarks\\"]
)  # fmt: skip
def test_a_path_is_not_normalised(service, path):
    request = (
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.access_token}\r\n"
        "Connection: close\r\n\r\n"
    )

    answer = service.send(request.encode())

    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b'{"success":0,' in answer


@pytest.mark.parametrize("header", [b"A: " + b"a" * 1_000_000, b"\r\n".join(b"A%d: a" % n for n in range(200))])
def test_headers_over_the_limits_are_refused(service, header):
    answer = service.send(b"GET /v1/bookmarks HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 431 ")
