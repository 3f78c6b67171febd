"""Calls from the scripts of web pages on other origins."""

import pytest
from django.urls import reverse

from tests.bookmarks.conftest import access_token, create_bookmark  # noqa: F401
from tests.bookmarks_service.test_settings import load_settings

pytestmark = pytest.mark.once

ORIGIN = "https://app.example"
PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "PATCH",
    "Access-Control-Request-Headers": "authorization,content-type,if-match",
}


@pytest.fixture
def allowed(settings):
    """Let one other origin call the service."""
    loaded = load_settings(SECRET_KEY="x", CORS_ALLOWED_ORIGINS=ORIGIN)
    settings.MIDDLEWARE, settings.CORS_ALLOWED_ORIGINS = loaded["MIDDLEWARE"], loaded["CORS_ALLOWED_ORIGINS"]


def listed(response, header):
    return {name.strip() for name in response[header].split(",")}


def test_a_preflight_of_an_allowed_origin_is_answered(client, allowed):
    response = client.options(reverse("bookmarks:bookmark", args=["x"]), headers=PREFLIGHT)

    assert response.status_code == 200
    assert response["Access-Control-Allow-Origin"] == ORIGIN
    assert "PATCH" in listed(response, "Access-Control-Allow-Methods")
    assert listed(response, "Access-Control-Allow-Headers") >= {"authorization", "content-type", "if-match"}


def test_a_call_of_an_allowed_origin_can_be_read(create_bookmark, allowed):  # noqa: F811
    response = create_bookmark({"url": "https://example.com/"}, HTTP_ORIGIN=ORIGIN)

    assert response.status_code == 201
    assert response["Access-Control-Allow-Origin"] == ORIGIN
    assert listed(response, "Access-Control-Expose-Headers") >= {"ETag", "Location", "RateLimit", "Retry-After"}
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize(
    ("path", "origin"), [("/v1/bookmarks", "https://other.example"), ("/admin/login/", ORIGIN), ("/livez", ORIGIN)]
)
def test_other_origins_and_the_pages_are_closed(client, db, allowed, path, origin):
    assert "Access-Control-Allow-Origin" not in client.get(path, headers={"Origin": origin})


def test_no_origin_is_allowed_by_default(client):
    response = client.options("/v1/bookmarks", headers=PREFLIGHT)

    assert response.status_code == 405
    assert "Access-Control-Allow-Origin" not in response
