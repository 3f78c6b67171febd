"""The eight tasks of docs/customize.md, with the code that it quotes."""

import io

import pytest
from django.core.exceptions import ValidationError
from django.urls import include, path

from bookmarks.files import read
from bookmarks.models import Bookmark
from bookmarks.testing import AccessTokenFactory, BookmarkFactory
from bookmarks.views import BookmarkAPIView
from tests.answers import errors
from tests.bookmarks.imports import imported
from tests.host.notes import configuration, jobs, limited_views, own_views

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


urlpatterns = [
    path("own", own_views.PlainBookmarksView.as_view()),
    path("v1/bookmarks", limited_views.LimitedBookmarksView.as_view()),
    path("", include("bookmarks.urls")),
]
URL = {"url": "https://a/"}


def allow_at_night(monkeypatch, is_allowed):
    monkeypatch.setattr(
        configuration.DuringTheDay, "has_permission", lambda *args: is_allowed
    )


@pytest.fixture
def configured(monkeypatch):
    """Do what the host does in ``ready``."""
    for name in ("serializer_class", "permission_classes"):
        monkeypatch.setattr(BookmarkAPIView, name, getattr(BookmarkAPIView, name))
    validators = Bookmark._meta.get_field("url").validators
    allow_at_night(monkeypatch, True)
    configuration.NotesConfig.ready(None)
    yield
    validators.remove(configuration.refuse_hosts)


@pytest.mark.usefixtures("configured")
def test_a_field_is_in_each_answer_and_can_be_sent_back(token_client):
    created = token_client.post("/v1/bookmarks", URL).json()["bookmark"]
    item = f"/v1/bookmarks/{created['id']}"

    read = token_client.get(item).json()["bookmark"]
    [listed] = token_client.get("/v1/bookmarks").json()["bookmarks"]
    batch = token_client.post("/v1/bookmarks/batch", {"bookmarks": [read]})
    changed = token_client.patch(item, {**read, "title": "New"})

    assert created["is_secure"] is True
    assert read == created
    assert listed.items() >= read.items()
    assert batch.json()["results"][0]["bookmark"] == created
    assert changed.json()["bookmark"]["title"] == "New"


def test_a_declared_filter_is_applied(token_client, token):
    for title in ("one", "two"):
        BookmarkFactory(user_group=token.user_group, title=title)

    response = token_client.get("/v1/bookmarks", {"title": "two"})

    assert [found["title"] for found in response.json()["bookmarks"]] == ["two"]


def test_pages_have_the_limits_of_the_host(token_client, token):
    BookmarkFactory.create_batch(51, user_group=token.user_group)

    default = token_client.get("/v1/bookmarks").json()
    largest = token_client.get("/v1/bookmarks", {"limit": 200}).json()

    assert (len(default["bookmarks"]), len(largest["bookmarks"])) == (20, 50)
    assert largest["next"] is not None


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
def test_a_permission_guards_all_bookmarks(token_client, monkeypatch, method, path):
    allow_at_night(monkeypatch, False)

    assert errors(token_client.generic(method, path), 403) == [(None, "at_night")]


def test_a_throttle_counts_the_posts_of_a_group(token_client):
    statuses = [token_client.post("/v1/bookmarks", URL).status_code for _ in range(6)]

    assert statuses == [201, 200, 200, 200, 200, 429]
    assert token_client.get("/v1/bookmarks").status_code == 200


REFUSED = {"url": "https://refused.example/"}


@pytest.mark.parametrize(
    "url", ["HTTPS://u@refused.example:443", "https:\\\\refuse%64.example/"]
)
def test_a_refused_host_is_recognized_however_it_is_written(url):
    with pytest.raises(ValidationError, match="This host is refused"):
        configuration.refuse_hosts(url)


@pytest.mark.usefixtures("configured")
def test_the_urls_of_some_hosts_are_refused_in_calls_and_batches(token_client, token):
    bookmark = BookmarkFactory(user_group=token.user_group, **URL)
    items = [{"url": "https://b/"}, REFUSED, {"url": "unknown"}]

    created = token_client.post("/v1/bookmarks", REFUSED)
    changed = token_client.patch(f"/v1/bookmarks/{bookmark.pk}", REFUSED)
    batch = token_client.post("/v1/bookmarks/batch", {"bookmarks": items})

    assert errors(created) == errors(changed) == [("url", "refused_host")]
    results = batch.json()["results"]
    assert [result["status"] for result in results] == [201, 400, 400]
    [error] = results[1]["errors"]
    assert (error["code"], error["attr"]) == ("refused_host", "url")
    urls = Bookmark.objects.values_list("url", flat=True)
    assert {*urls} == {"https://a/", "https://b/"}


@pytest.mark.usefixtures("configured")
def test_the_urls_of_some_hosts_are_refused_in_imports_and_code(user_group):
    file = io.BytesIO(b"url\nhttps://refused.example/\nhttps://a/\n")

    report = imported(user_group, read(file, "csv"))
    with pytest.raises(ValidationError, match="This host is refused"):
        Bookmark.objects.add(user_group=user_group, **REFUSED)

    assert (report.created, report.refused) == (1, 1)
    [refusal] = report.refusals
    assert refusal.reason == "This host is refused."
    assert Bookmark.objects.get().url == "https://a/"


def test_a_nightly_job_adds_bookmarks_once():
    token = AccessTokenFactory(user_group__environment="Customer")

    jobs.add_daily_links()
    jobs.add_daily_links()

    bookmark = Bookmark.objects.get()
    assert bookmark.user_group == token.user_group
    assert bookmark.tags == ["daily"]


def test_a_view_of_the_host_orders_searches_and_creates(token_client, token):
    for title in ("b", "a", "other"):
        BookmarkFactory(user_group=token.user_group, title=title)
    BookmarkFactory(title="a of another group")

    ordered = token_client.get("/own", {"ordering": "title"}).json()
    found = token_client.get("/own", {"search": "other"}).json()
    created = token_client.post("/own", {**URL, "title": "c", "tags": ["x"]})

    assert [each["title"] for each in ordered] == ["a", "b", "other"]
    assert [each["title"] for each in found] == ["other"]
    assert created.json()["tags"] == ["x"]
    assert Bookmark.objects.get(title="c").user_group == token.user_group
