"""Error responses outside the views of the API, and the middleware that only
pages need.
"""

import re

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError, connection
from django.http import Http404
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.urls import reverse
from django.utils import translation

from bookmarks_service import handlers
from bookmarks_service.middleware import is_page_path
from bookmarks_service.urls import urlpatterns
from tests.admin.german import GERMAN, in_english
from tests.answers import error_code, errors

pytestmark = pytest.mark.database_independent

KINDS = {
    "/": "text/html; charset=utf-8",
    "/docs/": "text/html; charset=utf-8",
    "/admin/unknown/": "text/html; charset=utf-8",
    "/docs/unknown": "application/json",
    "/schema/": "application/json",
    "/api/user": "application/json",
    "/administrator": "application/json",
}
"""The media type of errors, by path."""


@pytest.mark.parametrize(
    ("path", "content_type"), [("/", KINDS["/"]), ("/api/user", KINDS["/api/user"])]
)
def test_an_invalid_host_is_refused(client, path, content_type):
    """The host is checked before the path."""
    response = client.get(path, headers={"Host": "evil.example"})

    assert (response.status_code, response["Content-Type"]) == (400, content_type)
    assert "evil" not in response.content.decode()


ERRORS = {
    400: lambda request: handlers.bad_request(
        request, SuspiciousOperation("the inside story")
    ),
    403: lambda request: handlers.permission_denied(
        request, PermissionDenied("the inside story")
    ),
    404: lambda request: handlers.page_not_found(request, Http404("the inside story")),
    500: handlers.server_error,
}


@pytest.mark.parametrize("status", ERRORS)
@pytest.mark.parametrize(("path", "content_type"), KINDS.items())
def test_errors_are_answered_in_html_on_pages_and_in_json_elsewhere(
    status, path, content_type
):
    """They need neither a database nor a session or user of the request, which
    are all missing in this test.
    """
    response = ERRORS[status](RequestFactory().get(path))

    assert (response.status_code, response["Content-Type"]) == (status, content_type)
    assert response["Cache-Control"] == "no-store"
    assert "inside story" not in response.content.decode()


TEMPLATES = [
    "400.html",
    "403.html",
    "403_csrf.html",
    "404.html",
    "413.html",
    "500.html",
    "503.html",
    "admin/locked_out.html",
    "admin/sign_in_failed.html",
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_an_error_page_has_a_heading_and_ways_back_and_is_german(template):
    context = {"failure_limit": 10, "title": "Titel"}

    page = render_to_string(template, context)
    with translation.override("de"):
        german = render_to_string(template, context)

    assert page.count("<h1>") == 1
    assert re.search(r"<title>.+ \| bookmarks_service</title>", page)
    for link in (reverse("admin:index"), reverse("index"), 'id="back"'):
        assert link in page
    assert '<html lang="de"' in german
    assert in_english(german) == set()


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/docs/", "/schema/"])
def test_a_method_that_a_page_does_not_serve_is_refused_in_english(client, path):
    response = client.post(path, **GERMAN)

    assert errors(response, 405) == [(None, "method_not_allowed")]
    assert 'Method "POST" not allowed.' in response.content.decode().replace("\\", "")


def test_the_admin_answers_with_the_error_pages_of_the_service(admin_client, client):
    missing = admin_client.get("/admin/unknown/")
    malformed = admin_client.get(
        reverse("admin:usergroups_team_changelist") + "?unknown=1"
    )
    forbidden = admin_client.get(reverse("admin:autocomplete"))
    client.handler.enforce_csrf_checks = True
    forged = client.post(reverse("admin:login"))
    anonymous = client.get("/admin/unknown/")

    shown = [
        (each.status_code, re.search("<h1>(.*)</h1>", each.content.decode())[1])
        for each in (missing, malformed, forbidden, forged)
    ]
    assert shown == [
        (404, "Page not found"),
        (400, "Bad request"),
        (403, "Permission denied"),
        (403, "The form was not accepted"),
    ]
    assert anonymous.headers["Location"] == "/admin/login/?next=/admin/unknown/"


def test_the_admin_reports_an_unavailable_database(admin_client):
    def fail(execute, sql, params, many, context):
        raise OperationalError("the inside story")

    admin_client.raise_request_exception = False
    with connection.execute_wrapper(fail):
        response = admin_client.get("/admin/")

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "The database is temporarily unavailable" in response.content.decode()
    assert "story" not in response.content.decode()


# The middleware of pages


HEADERS_OF_PAGES = {
    "Vary",
    "Content-Language",
    "Content-Security-Policy",
}


def test_api_calls_skip_the_middleware_of_pages(admin_client):
    response = admin_client.get("/api/users")

    assert not hasattr(response.wsgi_request, "session")
    assert error_code(response, 401) == "not_authenticated"
    assert response.cookies == {}
    assert not response.headers.keys() & HEADERS_OF_PAGES


@pytest.mark.parametrize(
    "path", ["/", "/admin/", "/admin", "/docs/", "/schema/", "/admin/unknown"]
)
def test_pages_use_the_middleware_of_pages(admin_client, path):
    response = admin_client.get(path)

    assert response.headers.keys() >= HEADERS_OF_PAGES
    assert hasattr(response.wsgi_request, "session")


def test_every_url_of_the_service_itself_is_that_of_a_page():
    """The prefix of the start page and of the apps, which are mounted at the
    root, is empty.
    """
    prefixes = {str(each.pattern).partition("/")[0] for each in urlpatterns}

    assert prefixes == {"", *settings.PAGES.split("|")}
    assert all(is_page_path(f"/{prefix}") for prefix in prefixes)
