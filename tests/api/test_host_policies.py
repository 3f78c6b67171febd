"""The permissions, throttles and authentication of a host, in a subclass of a
view or for all views.

The fixture ``any_operation`` calls an operation with a valid token. A test
with it runs for each operation.
"""

import pytest
from django.contrib.auth.models import User
from django.urls import path
from drf_spectacular.generators import SchemaGenerator
from rest_framework.authentication import BaseAuthentication, BasicAuthentication
from rest_framework.exceptions import APIException
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.throttling import BaseThrottle, UserRateThrottle

from tests.answers import detail, error_code, errors
from tests.bookmarks_service.test_openapi import codes_of, resolved
from tests.conftest import Caller
from usergroups.api.serializers import Envelope
from usergroups.authentication import ApiTokenAuthentication
from usergroups.models import UserGroup
from usergroups.tokens.views import TokenView
from usergroups.views import UserGroupBatchDeletionView, UserGroupView

pytestmark = pytest.mark.database_independent


class Suspended(BasePermission):
    message = "The organisation is suspended."
    code = "suspended"

    def has_permission(self, request, view):
        return False


class PlanTooSmall(APIException):
    status_code = 403

    def __init__(self):
        self.detail = {"plan": ["Too small."]}


class RequiresLargerPlan(BasePermission):
    def has_permission(self, request, view):
        raise PlanTooSmall


class OncePerDay(UserRateThrottle):
    rate = "1/day"


class RefuseAll(BaseThrottle):
    def allow_request(self, request, view):
        return False


class AuthenticateAnyone(BaseAuthentication):
    def authenticate(self, request):
        return User(username="user"), None


@pytest.fixture
def call(api_client, api_token, user_group, settings):
    """Return a function that calls PUT, without middleware, on a subclass of
    UserGroupView with these attributes.
    """
    settings.MIDDLEWARE = []

    def put(authorization=f"Token {api_token.secret}", **attributes):
        view = type("HostView", (UserGroupView,), attributes).as_view()
        # A class is hashable, as Django needs it for its cache of URLconfs.
        settings.ROOT_URLCONF = type(
            "HostURLs", (), {"urlpatterns": [path("host", view)]}
        )
        body = {"user_group_id": user_group.provided_id}
        return Caller(api_client, "PUT", "/host", "Token", api_token)(
            body, HTTP_AUTHORIZATION=authorization
        )

    return put


@pytest.fixture
def suspended(monkeypatch):
    """Add a permission to all views, as docs/customize.md says."""
    monkeypatch.setattr(
        TokenView, "permission_classes", [Suspended, *TokenView.permission_classes]
    )


def test_a_permission_can_be_put_before_those_of_all_views(
    any_operation, valid_body, suspended
):
    # The view's own permission would refuse a write.
    type(any_operation.token).objects.update(read_only=True)

    response = any_operation(valid_body)

    assert (error_code(response, 403), detail(response)) == (
        "suspended",
        "The organisation is suspended.",
    )


def documented_codes(document, operation, status):
    """Return the codes that the document lists for a response of an operation."""
    response = resolved(document, operation["responses"][status])
    return codes_of(response)


def test_a_permission_of_all_views_is_in_the_openapi_document(suspended):
    document = SchemaGenerator(
        patterns=[path("user", UserGroupView.as_view())]
    ).get_schema(public=True)

    operations = document["paths"]["/user"]
    assert documented_codes(document, operations["get"], "403") == {"suspended"}
    assert documented_codes(document, operations["put"], "403") == {
        "insufficient_scope",
        "suspended",
    }


def test_an_exception_whose_detail_is_an_object_gets_a_list_of_errors(call):
    assert errors(call(permission_classes=[RequiresLargerPlan]), 403) == [
        ("plan", "error")
    ]


@pytest.mark.parametrize(
    ("policy", "with_token", "without_token"),
    [
        ({"permission_classes": [AllowAny]}, 200, 401),
        (
            {"authentication_classes": [ApiTokenAuthentication, AuthenticateAnyone]},
            200,
            401,
        ),
        ({"authentication_classes": []}, 403, 403),
    ],
    ids=["any permission", "a user without a token", "no authentication"],
)
def test_a_token_is_required_whatever_the_policies_are(
    call, policy, with_token, without_token
):
    assert call(**policy).status_code == with_token
    assert error_code(call(authorization=None, **policy), without_token)


def test_authentication_without_tokens_is_refused_with_its_challenge(call):
    User.objects.create_user("x", password="y")  # "eDp5" is "x:y" in base64.

    response = call(
        authorization="Basic eDp5", authentication_classes=[BasicAuthentication]
    )

    assert error_code(response, 401) == "wrong_scheme"
    assert response["WWW-Authenticate"] == 'Basic realm="api"'


def test_the_throttles_of_rest_framework_work(call):
    first = call(throttle_classes=[OncePerDay])
    second = call(throttle_classes=[OncePerDay])

    assert first.status_code == 200
    assert error_code(second, 429) == "throttled"
    assert int(second["Retry-After"]) > 0
    # This throttle has no waiting time.
    assert call(throttle_classes=[RefuseAll])["Retry-After"] == "1"


class Archived(APIException):
    status_code = 410
    default_code = "archived"
    default_detail = "The user group is archived."


class NotInArchive(UserGroup.DoesNotExist):
    """An exception of the host, which is answered as its base class."""


def test_a_view_answers_an_exception_in_one_way(call_usergroups, monkeypatch):
    """In a call, in an item of a batch and in the OpenAPI document."""
    for view in (UserGroupView, UserGroupBatchDeletionView):
        answers = {**view.errors, UserGroup.DoesNotExist: Archived}
        monkeypatch.setattr(view, "errors", answers)

    single = call_usergroups("DELETE", "user", query={"user_group_id": "unknown"})
    batch = call_usergroups(
        "POST", "users-batch-delete", {"user_group_ids": ["unknown"]}
    )
    document = SchemaGenerator().get_schema(public=True)

    assert errors(single, 410) == [(None, "archived")]
    assert batch.json()["results"] == [
        {**single.json(), "status": 410, "changed": False}
    ]
    operation = document["paths"]["/api/user"]["delete"]
    assert documented_codes(document, operation, "410") == {"archived"}
    assert isinstance(UserGroupView().explain(NotInArchive()), Archived)


@pytest.mark.django_db
def test_a_batch_is_done_whatever_the_response_has(
    call_usergroups, user_group, monkeypatch
):
    envelopes = {"POST": Envelope}
    monkeypatch.setattr(UserGroupBatchDeletionView, "response_serializers", envelopes)

    response = call_usergroups(
        "POST", "users-batch-delete", {"user_group_ids": [user_group.provided_id]}
    )

    assert response.json() == {"success": 1}
    assert not UserGroup.objects.exists()
