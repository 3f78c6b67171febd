"""What somebody who knows DRF expects of the apps, in views of the host and in
subclasses of the apps' views.
"""

import io

import pytest
from django.core.exceptions import ValidationError
from django.urls import include, path
from rest_framework import generics, serializers
from rest_framework.parsers import JSONParser
from rest_framework.permissions import BasePermission
from rest_framework.response import Response
from rest_framework.throttling import UserRateThrottle
from rest_framework.views import APIView, exception_handler

from bookmarks import views
from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.files import read
from bookmarks.models import Bookmark
from bookmarks.serializers import BookmarkListQuery, BookmarkSerializer
from tests.answers import errors
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.bookmarks.imports import imported
from tests.conftest import Caller
from usergroups.api.throttling import TokenThrottle
from usergroups.tokens.permissions import TokenPermission

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class OncePerUser(UserRateThrottle):
    rate = "1/day"


class OncePerEnvironment(TokenThrottle):
    rate = "1/day"

    def get_cache_key(self, request, view):
        if request.method != "GET":
            return None
        return request.auth.environment


class BookmarkModelSerializer(serializers.ModelSerializer):
    class Meta:
        model = Bookmark
        fields = ["url", "tags"]


class OwnView(generics.ListAPIView):
    """A view of the host."""

    authentication_classes = [AccessTokenAuthentication]
    permission_classes = [TokenPermission]
    throttle_classes = []
    pagination_class = None
    versioning_class = None
    serializer_class = BookmarkModelSerializer

    def get_queryset(self):
        return self.request.auth.user_group.bookmarks.all()

    def get_exception_handler(self):
        return exception_handler


class OncePerUserView(OwnView):
    throttle_classes = [OncePerUser]


class OpenView(APIView):
    """A view of the host that answers with the state of the request's user."""

    authentication_classes = [AccessTokenAuthentication]
    permission_classes = []
    throttle_classes = []
    versioning_class = None

    def get(self, request):
        user = request.user
        return Response([user.is_authenticated, user.is_staff, user.has_perm("any")])


class BookmarkView(views.BookmarkView):
    throttle_classes = [OncePerEnvironment]


class NotSecret(BasePermission):
    def has_object_permission(self, request, view, obj):
        return obj.title != "secret"


class GuardedBookmarkView(views.BookmarkView):
    permission_classes = [*views.BookmarkView.permission_classes, NotSecret]


class GuardedBatchDeletionView(views.BookmarkBatchDeletionView):
    permission_classes = [NotSecret & TokenPermission]


class NarrowBookmarkView(views.BookmarkView):
    """Shows some bookmarks, and keeps what it does with them."""

    calls = []

    def get_queryset(self):
        return super().get_queryset().exclude(title="secret")

    def perform_update(self, serializer):
        self.calls.append(("from", serializer.instance.title))
        super().perform_update(serializer)

    def perform_destroy(self, instance):
        self.calls.append(("without", instance.title))
        super().perform_destroy(instance)


class PathSerializer(BookmarkSerializer):
    path = serializers.SerializerMethodField()

    def get_path(self, bookmark) -> str:
        return self.context["request"].path


class BookmarkBatchView(views.BookmarkBatchView):
    serializer_class = PathSerializer


class SortedQuery(BookmarkListQuery):
    order = serializers.ChoiceField(["newest", "oldest", "title"], default="title")


class SortedView(views.BookmarksView):
    request_serializers = {"GET": SortedQuery}


class BookmarksView(views.BookmarksView):
    parser_classes = [JSONParser]


urlpatterns = [
    path("own", OwnView.as_view()),
    path("once", OncePerUserView.as_view()),
    path("open", OpenView.as_view()),
    path("guarded/<public_id:id>", GuardedBookmarkView.as_view()),
    path("guarded/batch", GuardedBatchDeletionView.as_view()),
    path("narrow/<public_id:id>", NarrowBookmarkView.as_view()),
    path("paths", BookmarkBatchView.as_view()),
    path("sorted", SortedView.as_view()),
    # before the views with other paths
    path("v1/bookmarks/<public_id:id>", BookmarkView.as_view()),
    path("v1/bookmarks", BookmarksView.as_view()),
    path("", include("bookmarks.urls")),
]


@pytest.fixture
def call(api_client):
    """Return a function that calls a path with an access token."""

    def call(method, path, body=b"", token=None):
        token = token or AccessTokenFactory(recently_used=True)
        return Caller(api_client, method, path, "Bearer", token)(body)

    return call


def test_a_view_of_the_host_requires_a_token(api_client):
    response = api_client.get("/own")

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="api"'


def test_a_model_serializer_of_the_host_shows_tags_as_a_list(call):
    token = AccessTokenFactory()
    BookmarkFactory(user_group=token.user_group, url="https://a/", tags=["x", "y z"])

    response = call("GET", "/own", token=token)

    assert response.json() == [{"url": "https://a/", "tags": ["x", "y z"]}]


def test_the_user_of_a_token_is_its_owner_for_throttles(call):
    token = AccessTokenFactory()
    of_the_same_group = AccessTokenFactory(user_group=token.user_group)

    statuses = [
        call("GET", "/once", token=each).status_code
        for each in (token, AccessTokenFactory(), of_the_same_group)
    ]

    assert statuses == [200, 200, 429]


def test_the_user_of_a_token_may_nothing_else(call):
    assert call("GET", "/open").json() == [True, False, False]


def test_a_throttle_of_the_host_counts_by_its_own_key(call):
    call("GET", "/v1/bookmarks/unknown")

    again = call("GET", "/v1/bookmarks/unknown")
    deleted = call("DELETE", "/v1/bookmarks/unknown")

    assert errors(again, 429) == [(None, "throttled")]
    assert errors(deleted, 404) == [(None, "bookmark_not_found")]


@pytest.mark.parametrize("path", ["batch", "batch/delete", "batch/move", "lookup"])
def test_a_view_of_ids_takes_no_other_path(call, path):
    response = call("POST", f"/v1/bookmarks/{path}", b"{}")

    assert {code for _, code in errors(response)} == {"required"}


def test_a_parser_of_the_host_may_return_no_object(call):
    response = call("POST", "/v1/bookmarks", 5)

    assert errors(response) == [(None, "parse_error")]


@pytest.fixture
def refused_host():
    """Add a validator to the field of URLs, as a host does in ``ready``."""

    def refuse(url):
        if "://refused/" in url:
            raise ValidationError("This host is refused.", code="refused")

    validators = Bookmark._meta.get_field("url").validators
    validators.append(refuse)
    yield
    validators.remove(refuse)


@pytest.mark.usefixtures("refused_host")
def test_a_validator_of_the_host_holds_for_calls_and_batches(call):
    token = AccessTokenFactory()
    bookmark = BookmarkFactory(user_group=token.user_group, url="https://a/")
    body = {"url": "https://refused/"}
    changed = f"/v1/bookmarks/{bookmark.pk}"

    for response in (
        call("POST", "/v1/bookmarks", body, token),
        call("PATCH", changed, body, token),
    ):
        assert errors(response) == [("url", "refused")]
    items = [{"url": "https://b/"}, body, {"url": "unknown"}]
    results = call("POST", "/v1/bookmarks/batch", {"bookmarks": items}, token).json()[
        "results"
    ]

    assert [result["status"] for result in results] == [201, 400, 400]
    assert results[1]["errors"] == [
        {"code": "refused", "detail": "This host is refused.", "attr": "url"}
    ]
    urls = Bookmark.objects.values_list("url", flat=True)
    assert {*urls} == {"https://a/", "https://b/"}


@pytest.mark.usefixtures("refused_host")
def test_a_validator_of_the_host_holds_for_imports_and_code(user_group):
    file = io.BytesIO(b"url\nhttps://refused/\nhttps://a/\n")

    report = imported(user_group, read(file, "csv"))
    with pytest.raises(ValidationError, match="This host is refused"):
        Bookmark.objects.add(user_group=user_group, url="https://refused/")

    assert (report.created, report.refused) == (1, 1)
    [refusal] = report.refusals
    assert refusal.reason == "This host is refused."
    assert Bookmark.objects.get().url == "https://a/"


@pytest.mark.parametrize("prefix", ["guarded", "narrow"])
@pytest.mark.parametrize(
    ("method", "body"), [("GET", b""), ("PATCH", {"title": "x"}), ("DELETE", b"")]
)
def test_a_host_selects_the_objects_of_a_view(call, prefix, method, body):
    token = AccessTokenFactory()
    hidden = BookmarkFactory(user_group=token.user_group, title="secret")
    shown = BookmarkFactory(user_group=token.user_group)

    refused = call(method, f"/{prefix}/{hidden.pk}", body, token)
    done = call(method, f"/{prefix}/{shown.pk}", body, token)

    assert (refused.status_code, done.status_code) == (
        {"guarded": 403, "narrow": 404}[prefix],
        200,
    )
    assert Bookmark.objects.get(pk=hidden.pk).title == "secret"


def test_steps_of_the_host_have_the_object_as_it_is(call):
    token = AccessTokenFactory()
    path = f"/narrow/{BookmarkFactory(user_group=token.user_group, title='old').pk}"
    NarrowBookmarkView.calls.clear()

    call("PATCH", path, {"title": "new"}, token)
    call("DELETE", path, b"", token)

    assert NarrowBookmarkView.calls == [("from", "old"), ("without", "new")]


def test_a_batch_does_nothing_that_a_permission_of_objects_might_refuse(call):
    token = AccessTokenFactory()
    bookmark = BookmarkFactory(user_group=token.user_group)

    response = call("POST", "/guarded/batch", {"ids": [str(bookmark.pk)]}, token)

    assert errors(response, 500) == [(None, "internal_error")]
    assert Bookmark.objects.exists()


def test_the_results_of_a_batch_have_a_context(call):
    response = call("POST", "/paths", {"bookmarks": [{"url": "https://a/"}]})

    assert response.json()["results"][0]["bookmark"]["path"] == "/paths"


def test_an_order_that_no_page_has_is_an_error(call):
    assert call("GET", "/sorted").status_code == 500
    assert call("GET", "/sorted?order=oldest").status_code == 200


@pytest.mark.parametrize(
    ("view", "name", "door"),
    [
        (views.BookmarksView, "queryset", "Override get_queryset"),
        (views.BookmarkView, "pagination_class", "no list"),
        (views.BookmarkBatchDeletionView, "get_queryset", "by their ids"),
        (views.ExportView, "serializer_class", "Set response_serializers"),
        (views.BookmarkView, "serializer_class", "derive from BookmarkSerializer"),
    ],
)
def test_an_attribute_without_effect_is_refused(view, name, door):
    with pytest.raises(TypeError, match=door):
        type("HostView", (view,), {name: BookmarkModelSerializer})
