"""What somebody who knows DRF expects of the apps, in views of the host and in
subclasses of the apps' views.
"""

import pytest
from django.urls import include, path
from rest_framework import serializers
from rest_framework.parsers import JSONParser
from rest_framework.permissions import BasePermission
from rest_framework.response import Response
from rest_framework.throttling import UserRateThrottle
from rest_framework.views import APIView

from bookmarks import views
from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.models import Bookmark
from bookmarks.serializers import (
    BookmarkCreateSerializer,
    BookmarkListQuery,
    BookmarkSerializer,
)
from bookmarks.testing import AccessTokenFactory, BookmarkFactory
from tests.answers import errors
from tests.host.notes.own_views import OwnBookmarksView, PlainBookmarksView
from usergroups.testing import client_with
from usergroups.tokens.permissions import TokenPermission

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class OncePerUser(UserRateThrottle):
    rate = "1/day"


class OncePerUserView(PlainBookmarksView):
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
    request_serializers = {
        **views.BookmarksView.request_serializers,
        "GET": SortedQuery,
    }


class AppErrorsView(OwnBookmarksView, views.AccessTokenView):
    """The guide's view, with the errors of the apps."""

    versioning_class = None
    pagination_class = None


class ShortTitleSerializer(BookmarkCreateSerializer):
    """Requires a title that is shorter than the field allows."""

    def validate(self, attrs):
        longest = self.fields["title"].max_length // 100
        if len(attrs.get("title", "")) > longest:
            raise serializers.ValidationError({"title": ["Too long."]})
        return attrs


class BookmarksView(views.BookmarksView):
    parser_classes = [JSONParser]
    request_serializers = {
        **views.BookmarksView.request_serializers,
        "POST": ShortTitleSerializer,
    }


urlpatterns = [
    path("own", PlainBookmarksView.as_view()),
    path("once", OncePerUserView.as_view()),
    path("open", OpenView.as_view()),
    path("guarded/<public_id:id>", GuardedBookmarkView.as_view()),
    path("guarded/batch", GuardedBatchDeletionView.as_view()),
    path("paths", BookmarkBatchView.as_view()),
    path("errors", AppErrorsView.as_view()),
    path("sorted", SortedView.as_view()),
    # before the views with other paths
    path("v1/bookmarks/<public_id:id>", NarrowBookmarkView.as_view()),
    path("v1/bookmarks", BookmarksView.as_view()),
    path("", include("bookmarks.urls")),
]


def test_a_view_of_the_host_requires_a_token(api_client):
    response = api_client.get("/own")

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="api"'


def test_the_user_of_a_token_is_its_owner_for_throttles(token):
    of_the_same_group = AccessTokenFactory(user_group=token.user_group)

    statuses = [
        client_with(each).get("/once").status_code
        for each in (token, AccessTokenFactory(), of_the_same_group)
    ]

    assert statuses == [200, 200, 429]


def test_the_user_of_a_token_may_nothing_else(token_client):
    assert token_client.get("/open").json() == [True, False, False]


@pytest.mark.parametrize("path", ["batch", "batch/delete", "batch/move", "lookup"])
def test_a_view_of_ids_takes_no_other_path(token_client, path):
    response = token_client.post(f"/v1/bookmarks/{path}", {})

    assert {code for _, code in errors(response)} == {"required"}


def test_a_parser_of_the_host_may_return_no_object(token_client):
    response = token_client.post("/v1/bookmarks", 5)

    assert errors(response) == [(None, "parse_error")]


@pytest.mark.parametrize("prefix", ["guarded", "v1/bookmarks"])
@pytest.mark.parametrize(
    ("method", "body"), [("get", None), ("patch", {"title": "x"}), ("delete", None)]
)
def test_a_host_selects_the_objects_of_a_view(
    token_client, token, prefix, method, body
):
    hidden = BookmarkFactory(user_group=token.user_group, title="secret")
    shown = BookmarkFactory(user_group=token.user_group)
    call = getattr(token_client, method)

    refused = call(f"/{prefix}/{hidden.pk}", body)
    done = call(f"/{prefix}/{shown.pk}", body)

    assert refused.status_code == {"guarded": 403, "v1/bookmarks": 404}[prefix]
    assert done.status_code == 200
    assert Bookmark.objects.get(pk=hidden.pk).title == "secret"


def test_steps_of_the_host_have_the_object_as_it_is(token_client, token):
    bookmark = BookmarkFactory(user_group=token.user_group, title="old")
    path = f"/v1/bookmarks/{bookmark.pk}"
    NarrowBookmarkView.calls.clear()

    token_client.patch(path, {"title": "new"})
    token_client.delete(path)

    assert NarrowBookmarkView.calls == [("from", "old"), ("without", "new")]


def test_a_batch_does_nothing_that_a_permission_of_objects_might_refuse(
    token_client, token
):
    bookmark = BookmarkFactory(user_group=token.user_group)

    response = token_client.post("/guarded/batch", {"ids": [str(bookmark.pk)]})

    assert errors(response, 500) == [(None, "internal_error")]
    assert Bookmark.objects.exists()


def test_the_results_of_a_batch_have_a_context(token_client):
    response = token_client.post("/paths", {"bookmarks": [{"url": "https://a/"}]})

    assert response.json()["results"][0]["bookmark"]["path"] == "/paths"


def test_a_serializer_reads_its_fields_also_if_they_are_omitted(token_client):
    without = token_client.post("/v1/bookmarks", {"url": "https://a/"})
    too_long = token_client.post(
        "/v1/bookmarks", {"url": "https://a/", "title": "a" * 11}
    )

    assert without.status_code == 201
    assert errors(too_long) == [("title", "invalid")]


def test_an_order_that_no_page_has_is_an_error(token_client):
    assert token_client.get("/sorted").status_code == 500
    assert token_client.get("/sorted?order=oldest").status_code == 200


@pytest.mark.parametrize(
    ("view", "name", "door"),
    [
        (views.BookmarksView, "queryset", "Override get_queryset"),
        (views.BookmarksView, "ordering_fields", "one order"),
        (views.BookmarksView, "page_size", "default_limit"),
        (views.BookmarksView, "search_fields", "Declare a filter"),
        (views.BookmarkView, "throttle_scope", "throttle_classes"),
        (views.BookmarksView, "pagination_class", "derive from BookmarkPagination"),
        (views.BookmarksView, "request_serializers", r"\[POST\] must derive"),
        (views.BookmarkView, "pagination_class", "no objects to list"),
        (views.BookmarkBatchDeletionView, "get_queryset", "by their ids"),
        (views.ExportView, "serializer_class", "no objects to"),
        (views.BookmarkView, "serializer_class", "derive from BookmarkSerializer"),
    ],
)
def test_an_attribute_without_effect_is_refused(view, name, door):
    value = serializers.Serializer
    if name == "request_serializers":
        value = {"GET": view.request_serializers["GET"]}

    with pytest.raises(TypeError, match=door):
        type("HostView", (view,), {name: value})


@pytest.mark.parametrize(
    ("name", "door"), [("page_size", "default_limit"), ("max_page_size", "max_limit")]
)
def test_an_attribute_of_a_paginator_without_effect_is_refused(name, door):
    paginator = views.BookmarksView.pagination_class

    with pytest.raises(TypeError, match=rf"{name} has no effect. Set {door}"):
        type("HostPagination", (paginator,), {name: 20})


def test_a_view_of_the_host_can_have_the_errors_of_the_apps(token_client):
    created = token_client.post("/errors", {"url": "https://a/"})
    unknown = token_client.post("/errors", {"url": "https://a/", "x": 1})

    assert (created.status_code, created.json()["url"]) == (201, "https://a/")
    assert errors(unknown) == [("x", "unknown_field")]
    assert len(token_client.get("/errors").json()) == 1


def test_a_surrogate_in_a_url_is_refused_by_the_field(token_client):
    response = token_client.post("/own", {"url": "https://a/\ud800"})

    assert response.status_code == 400
