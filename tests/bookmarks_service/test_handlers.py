"""Answers to requests that reach no view."""

import pytest
from django.db import InterfaceError, InternalError, OperationalError, connection
from django.test import RequestFactory
from django.urls import reverse

from bookmarks_service import handlers
from tests.answers import error_code


def test_an_unknown_path_is_answered_in_json_except_in_the_admin(client, admin_client):
    assert client.get("/unknown").json()["errors"][0]["code"] == "not_found"
    assert "<h1>Not Found</h1>" in admin_client.get("/admin/unknown/").content.decode()


def test_an_invalid_host_is_answered_in_json(client):
    response = client.get("/unknown", headers={"Host": "evil.example"})

    assert (response.status_code, response.json()["errors"][0]["code"]) == (400, "bad_request")


@pytest.mark.parametrize(("path", "content_type"), [("/unknown", "application/json"), ("/admin/", "text/html")])
def test_a_server_error_is_answered_in_json_except_in_the_admin(path, content_type):
    response = handlers.server_error(RequestFactory().get(path))

    assert response.status_code == 500
    assert response["Content-Type"].startswith(content_type)


@pytest.mark.parametrize("error", [OperationalError, InterfaceError, InternalError])
def test_the_admin_reports_an_unavailable_database(admin_client, error):
    def fail(execute, sql, params, many, context):
        raise error("the inside story")

    admin_client.raise_request_exception = False
    with connection.execute_wrapper(fail):
        response = admin_client.get("/admin/")

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "The database is temporarily unavailable" in response.content.decode()
    assert "story" not in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "host", "status"),
    [
        ("GET", "/unknown", "localhost", 404),
        ("GET", "/api/user", "evil.example", 400),
        ("POST", "/", "localhost", 405),
        ("GET", "/livez", "localhost", 200),
        ("GET", "/readyz", "localhost", 200),
    ],
)
def test_answers_in_json_are_not_stored_by_caches(client, method, path, host, status):
    response = client.generic(method, path, headers={"Host": host})

    assert (response.status_code, response["Cache-Control"]) == (status, "no-store")


def test_a_server_error_is_not_stored_by_caches():
    assert handlers.server_error(RequestFactory().get("/api/user"))["Cache-Control"] == "no-store"


def test_the_refusal_of_plain_http_is_not_stored_by_caches(client, settings):
    settings.SECURE_SSL_REDIRECT = True

    response = client.get("/api/user")

    assert (response.status_code, response["Cache-Control"]) == (400, "no-store")


def test_an_exception_in_the_middleware_is_answered_in_json(client, settings):
    settings.MIDDLEWARE = ["tests.bookmarks_service.test_handlers.crash"]

    response = client.put("/api/user")

    assert (response.status_code, response.json()["type"]) == (500, "server_error")


def crash(get_response):
    def middleware(request):
        raise RuntimeError("the inside story")

    return middleware


@pytest.mark.parametrize("slashes", ["/", "//"])
@pytest.mark.parametrize("url_name", ["usergroups:user", "bookmarks:bookmarks-batch", "access_tokens:access-tokens"])
def test_a_trailing_slash_is_named(client, url_name, slashes):
    response = client.get(reverse(url_name) + slashes)

    assert error_code(response, 404) == "not_found"
    assert response.json()["errors"][0]["detail"] == "Not found. Remove the trailing slash of the path."


@pytest.mark.parametrize("path", ["/", "-nothing", "/nothing/", "/%00/"])
def test_other_unknown_paths_have_no_such_hint(client, path):
    response = client.get(reverse("usergroups:users-batch") + path + "x")

    assert response.json()["errors"][0]["detail"] == "Not found."
