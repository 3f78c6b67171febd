"""The eight tasks of docs/customize.md, with the code that it quotes."""

import pytest
from django.urls import include, path
from rest_framework.views import exception_handler

from bookmarks.models import Bookmark
from bookmarks.testing import AccessTokenFactory, BookmarkFactory
from bookmarks.views import BookmarkAPIView
from tests.answers import errors
from tests.host.notes import configuration, jobs, limited_views, own_views
from usergroups.testing import client_with

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class OwnBookmarksView(own_views.OwnBookmarksView):
    """Without the policies of the host, which are those of camel case."""

    versioning_class = None
    throttle_classes = []
    pagination_class = None

    def get_exception_handler(self):
        return exception_handler


urlpatterns = [
    path("own", OwnBookmarksView.as_view()),
    path("v1/bookmarks", limited_views.LimitedBookmarksView.as_view()),
    path("", include("bookmarks.urls")),
]
URL = {"url": "https://a/"}


@pytest.fixture
def token():
    return AccessTokenFactory(recently_used=True)


@pytest.fixture
def client(token):
    """Return a client with the access token."""
    return client_with(token)


@pytest.fixture
def configured(monkeypatch):
    """Do what the host does in ``ready``."""
    monkeypatch.setattr(
        BookmarkAPIView, "serializer_class", BookmarkAPIView.serializer_class
    )
    monkeypatch.setattr(
        BookmarkAPIView, "permission_classes", BookmarkAPIView.permission_classes
    )
    validators = Bookmark._meta.get_field("url").validators
    monkeypatch.setattr(
        configuration.DuringTheDay, "has_permission", lambda *args: True
    )
    configuration.NotesConfig.ready(None)
    yield
    validators.remove(configuration.refuse_hosts)


@pytest.mark.usefixtures("configured")
def test_a_field_is_in_each_answer_and_can_be_sent_back(client):
    created = client.post("/v1/bookmarks", URL).json()["bookmark"]
    item = f"/v1/bookmarks/{created['id']}"

    read = client.get(item).json()["bookmark"]
    [listed] = client.get("/v1/bookmarks").json()["bookmarks"]
    batch = client.post("/v1/bookmarks/batch", {"bookmarks": [read]})
    changed = client.patch(item, {**read, "title": "New"})

    assert created["is_secure"] is True
    assert read == created
    assert listed.items() >= read.items()
    assert batch.json()["results"][0]["bookmark"] == created
    assert changed.json()["bookmark"]["title"] == "New"


def test_a_declared_filter_is_applied(client, token):
    for title in ("one", "two"):
        BookmarkFactory(user_group=token.user_group, title=title)

    response = client.get("/v1/bookmarks", {"title": "two"})

    assert [found["title"] for found in response.json()["bookmarks"]] == ["two"]


def test_pages_have_the_limits_of_the_host(client, token):
    BookmarkFactory.create_batch(51, user_group=token.user_group)

    pages = [
        client.get("/v1/bookmarks", query).json() for query in ({}, {"limit": 200})
    ]

    assert [len(page["bookmarks"]) for page in pages] == [20, 50]
    assert pages[1]["next"] is not None


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/bookmarks"),
        ("DELETE", "/v1/bookmarks/a"),
        ("POST", "/v1/bookmarks/batch/delete"),
        ("POST", "/v1/bookmarks/lookup"),
    ],
)
def test_a_permission_guards_all_bookmarks(client, monkeypatch, method, path):
    monkeypatch.setattr(
        configuration.DuringTheDay, "has_permission", lambda *args: False
    )

    assert errors(client.generic(method, path), 403) == [(None, "at_night")]


def test_a_throttle_counts_the_posts_of_a_group(client):
    statuses = [client.post("/v1/bookmarks", URL).status_code for _ in range(6)]

    assert statuses == [201, 200, 200, 200, 200, 429]
    assert client.get("/v1/bookmarks").status_code == 200


@pytest.mark.usefixtures("configured")
def test_the_urls_of_some_hosts_are_refused(client):
    response = client.post("/v1/bookmarks", {"url": "https://refused.example/"})

    assert errors(response) == [("url", "refused_host")]


def test_a_nightly_job_adds_bookmarks_once():
    token = AccessTokenFactory(user_group__environment="Customer")

    jobs.add_daily_links()
    jobs.add_daily_links()

    bookmark = Bookmark.objects.get()
    assert bookmark.user_group == token.user_group
    assert bookmark.tags == ["daily"]


def test_a_view_of_the_host_orders_searches_and_creates(client, token):
    for title in ("b", "a", "other"):
        BookmarkFactory(user_group=token.user_group, title=title)
    BookmarkFactory(title="a of another group")

    ordered = client.get("/own", {"ordering": "title"}).json()
    found = client.get("/own", {"search": "other"}).json()
    created = client.post("/own", {**URL, "title": "c", "tags": ["x"]})

    assert [each["title"] for each in ordered] == ["a", "b", "other"]
    assert [each["title"] for each in found] == ["other"]
    assert created.json()["tags"] == ["x"]
    assert Bookmark.objects.get(title="c").user_group == token.user_group
