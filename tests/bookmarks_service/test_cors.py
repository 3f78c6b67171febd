"""Calls from the scripts of web pages on other origins."""

import pytest
from django.test import Client

from tests.bookmarks.factories import AccessTokenFactory
from tests.bookmarks_service.test_settings import load_settings

pytestmark = [pytest.mark.database_independent, pytest.mark.django_db]

ORIGIN = "https://app.example"
PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "PATCH",
    "Access-Control-Request-Headers": "authorization,content-type,if-match",
}


def test_a_script_of_an_allowed_origin_can_call_the_api_and_read_the_answer(
    client, settings
):
    refused = Client().options("/v1/bookmarks/x", headers=PREFLIGHT)
    loaded = load_settings(SECRET_KEY="x", CORS_ALLOWED_ORIGINS=ORIGIN)
    settings.MIDDLEWARE = loaded["MIDDLEWARE"]
    settings.CORS_ALLOWED_ORIGINS = loaded["CORS_ALLOWED_ORIGINS"]
    preflight = client.options("/v1/bookmarks/x", headers=PREFLIGHT)
    secret = AccessTokenFactory().secret
    response = client.post(
        "/v1/bookmarks",
        {"url": "https://example.com/"},
        "application/json",
        headers={"Origin": ORIGIN, "Authorization": f"Bearer {secret}"},
    )

    assert preflight.status_code == 200
    assert "if-match" in preflight["Access-Control-Allow-Headers"]
    assert response.status_code == 201
    for answer in (preflight, response):
        assert answer["Access-Control-Allow-Origin"] == ORIGIN
    exposed = response["Access-Control-Expose-Headers"]
    for name in ("Content-Disposition", "ETag", "Location", "RateLimit", "Retry-After"):
        assert name in exposed
    assert "Access-Control-Allow-Credentials" not in response
    page = client.get("/admin/login/", headers={"Origin": ORIGIN})
    for answer in (refused, page):
        assert "Access-Control-Allow-Origin" not in answer
