"""Views of the apps that a host has subclassed."""

import pytest

from bookmarks.models import Bookmark
from tests.answers import bookmark_json, errors, user_group_json
from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller
from tests.host.notes.views import BookmarksThrottle

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.host.notes.urls")]

BODY = {"url": "https://Example.com/a"}


@pytest.fixture
def access_token():
    return AccessTokenFactory(user_group__properties={"plan": "pro"}, recently_used=True)


@pytest.fixture
def create_bookmark(client, access_token):
    return Caller(client, "POST", "/links/v1/bookmarks", "Bearer", access_token)


def test_the_answer_has_the_field_of_the_host(create_bookmark, access_token):
    response = create_bookmark(BODY)

    assert response.status_code == 201
    assert response.json() == {
        "success": 1,
        "user_group": user_group_json(access_token.user_group),
        "bookmark": {**bookmark_json(Bookmark.objects.get()), "is_secure": True},
    }
    assert response["Location"] == f"/links/v1/bookmarks/{Bookmark.objects.get().pk}"


def test_the_permission_of_the_host_refuses_a_call(create_bookmark, access_token):
    access_token.user_group.properties = None
    access_token.user_group.save()

    response = create_bookmark(BODY)

    assert errors(response, 403) == [(None, "plan_required")]
    assert response.json()["errors"][0]["detail"] == "Bookmarks are part of the plan pro."
    assert not Bookmark.objects.exists()


def test_the_throttle_of_the_host_counts(create_bookmark, monkeypatch):
    monkeypatch.setattr(BookmarksThrottle, "rate", "2/day")

    first, _, third = [create_bookmark(BODY) for _ in range(3)]

    assert first["RateLimit-Policy"] == '"bookmarks";q=2;w=86400'
    assert errors(third, 429) == [(None, "throttled")]


def test_the_results_of_a_batch_may_have_another_serializer(client, access_token):
    url = "/links/v1/bookmarks/batch"
    response = Caller(client, "POST", url, "Bearer", access_token)({"bookmarks": [BODY, {"url": "example.com"}]})

    created, invalid = response.json()["results"]
    assert created == {
        "status": 201,
        "success": 1,
        "bookmark": {**bookmark_json(Bookmark.objects.get()), "is_secure": True},
    }
    assert (invalid["status"], invalid["success"]) == (400, 0)
