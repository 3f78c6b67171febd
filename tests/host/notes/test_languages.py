"""A host whose pages have the language in their path."""

import pytest

from tests.answers import errors
from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.urls("tests.host.notes.languages_urls"),
]

GERMAN = {"Accept-Language": "de"}
LOCALE = "django.middleware.locale.LocaleMiddleware"
SITE_LOCALE = "tests.host.notes.middleware.SiteLocaleMiddleware"


@pytest.fixture
def middleware(settings):
    """Replace Django's middleware by the documented one."""
    assert LOCALE in settings.MIDDLEWARE
    settings.MIDDLEWARE = [
        SITE_LOCALE if name == LOCALE else name for name in settings.MIDDLEWARE
    ]


def test_django_redirects_a_missing_page_to_one_in_the_language(client):
    response = client.get("/links/unknown", headers=GERMAN)

    assert response.status_code == 302
    assert response["Location"] == "/de/links/unknown"


@pytest.mark.usefixtures("middleware")
@pytest.mark.parametrize(
    "path", ["/links", "/links/unknown", "/links/v1/bookmarks/unknown"]
)
def test_the_404_of_a_call_is_not_redirected(api_client, path):
    token = AccessTokenFactory(recently_used=True)

    response = Caller(api_client, "GET", path, "Bearer", token)()

    # The last path is that of a bookmark, and the others are no operations.
    [(attr, code)] = errors(response, 404)
    assert attr is None
    assert code in ("not_found", "bookmark_not_found")
    assert "Accept-Language" not in response.get("Vary", "")


@pytest.mark.usefixtures("middleware")
def test_other_pages_are_still_redirected(client):
    assert client.get("/about", headers=GERMAN)["Location"] == "/de/about"
