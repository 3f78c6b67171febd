"""Calls from the scripts of web pages on other origins."""

import httpx
import pytest

from tests.bookmarks_service.service import Service, empty_database

ORIGIN = "https://app.example"
PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "PATCH",
    "Access-Control-Request-Headers": "authorization,content-type,if-match",
}

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def open_service(tmp_path_factory):
    """A service that one other origin may call."""
    folder = tmp_path_factory.mktemp("cors")
    with empty_database(folder) as database_url, Service(folder, database_url, CORS_ALLOWED_ORIGINS=ORIGIN) as service:
        yield service


def test_a_preflight_of_an_allowed_origin_is_answered(open_service):
    response = httpx.options(f"{open_service.base_url}/v1/bookmarks/x", headers=PREFLIGHT)

    assert response.status_code == 200
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "PATCH" in response.headers["Access-Control-Allow-Methods"]
    allowed = {name.strip() for name in response.headers["Access-Control-Allow-Headers"].split(",")}
    assert {"authorization", "content-type", "if-match"} <= allowed


def test_a_call_of_an_allowed_origin_can_be_read(open_service):
    with httpx.Client(headers={"Origin": ORIGIN}) as client:
        response = open_service.create_bookmark(client, url="https://example.com/")

    assert response.status_code == 201
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
    exposed = {name.strip() for name in response.headers["Access-Control-Expose-Headers"].split(",")}
    assert {"ETag", "Location", "RateLimit", "Retry-After"} <= exposed
    assert "Access-Control-Allow-Credentials" not in response.headers


@pytest.mark.parametrize(
    ("path", "origin"), [("/v1/bookmarks", "https://other.example"), ("/admin/login/", ORIGIN), ("/livez", ORIGIN)]
)
def test_other_origins_and_the_pages_are_closed(open_service, path, origin):
    response = httpx.get(f"{open_service.base_url}{path}", headers={"Origin": origin})

    assert "Access-Control-Allow-Origin" not in response.headers


def test_no_origin_is_allowed_by_default(service):
    response = httpx.options(f"{service.base_url}/v1/bookmarks", headers=PREFLIGHT)

    assert response.status_code == 405
    assert "Access-Control-Allow-Origin" not in response.headers
