"""The middleware that only pages need, which requests of API clients do not enter."""

import pytest
from axes.middleware import AxesMiddleware
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.deprecation import MiddlewareMixin
from django.utils.module_loading import import_string

from bookmarks_service.middleware import PagesOnly, is_page_path
from bookmarks_service.urls import urlpatterns

pytestmark = pytest.mark.once

STOCK = [
    "csp.middleware.CSPMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "axes.middleware.AxesMiddleware",
    "django.utils.deprecation.MiddlewareMixin",
]


@pytest.fixture
def entered(monkeypatch):
    """Return the list of the stock middleware whose code has run, in the order of the requests."""
    classes = []

    def record(base):
        call = base.__call__

        def recording(self, request):
            if isinstance(self, PagesOnly):
                classes.append(type(self).__mro__[2])
            return call(self, request)

        monkeypatch.setattr(base, "__call__", recording)

    record(MiddlewareMixin)
    record(AxesMiddleware)
    return classes


def test_api_calls_do_not_enter_it(any_operation, valid_body, entered):
    assert any_operation(valid_body).status_code in (200, 201)
    assert any_operation(HTTP_AUTHORIZATION=None).status_code == 401
    assert entered == []


@pytest.mark.parametrize("path", ["/", "/admin/", "/admin", "/docs/", "/schema/", "/admin/unknown"])
def test_pages_enter_all_of_it(admin_client, path, entered):
    admin_client.get(path)

    assert entered == [import_string(name) for name in STOCK]


def test_an_api_call_with_a_session_cookie_ignores_the_session(admin_client, entered):
    response = admin_client.get("/api/users")

    assert response.json()["errors"][0]["code"] == "not_authenticated"
    assert response.cookies == {}
    assert entered == []


def test_the_pages_are_all_urls_of_the_service_itself():
    """The apps are mounted at the root."""
    prefixes = {str(each.pattern).partition("/")[0] for each in urlpatterns}

    assert prefixes == {"", *settings.PAGES.split("|")}
    assert all(is_page_path(f"/{prefix}") for prefix in prefixes)


# Bodies from anonymous clients


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/admin/login/", "/admin/bookmarks/bookmark/import/", "/admin/nothing-here"])
def test_a_large_upload_without_a_login_is_refused_before_it_is_read(client, path):
    client.cookies["csrftoken"] = "a" * 32
    file = SimpleUploadedFile("large.html", b"a" * 100_000)

    response = client.post(path, {"file": file})
    small = client.post(path, {"username": "operator", "password": "wrong"})

    assert response.status_code == 413
    assert "<h1>Log in first</h1>" in response.content.decode()
    assert not response.wsgi_request._read_started
    assert small.status_code != 413
