"""The policies that a host sets in a subclass of a view: its own permissions, throttles and authentication."""

import json

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError
from django.urls import path
from drf_spectacular.generators import SchemaGenerator
from rest_framework.authentication import BaseAuthentication, BasicAuthentication
from rest_framework.exceptions import APIException
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.serializers import Serializer, SerializerMethodField
from rest_framework.throttling import AnonRateThrottle, BaseThrottle, UserRateThrottle

from tests.conftest import Caller
from tests.contract.test_answers import problem
from usergroups.authentication import ApiTokenAuthentication
from usergroups.views import UserGroupView


class OncePerDay(AnonRateThrottle):
    rate = "1/day"


class OncePerDayPerUser(UserRateThrottle):
    rate = "1/day"


class Never(BaseThrottle):
    def allow_request(self, request, view):
        return False


class SomeUser(BaseAuthentication):
    def authenticate(self, request):
        return User(username="user"), None


class FailingAuthentication(BaseAuthentication):
    def authenticate(self, request):
        raise IntegrityError


class Refusal(APIException):
    status_code = 403

    def __init__(self, detail):
        self.detail = detail


def refusing(detail):
    class Refusing(BasePermission):
        def has_permission(self, request, view):
            raise Refusal(detail)

    return Refusing


class Suspended(BasePermission):
    message = "The organisation is suspended."
    code = "suspended"

    def has_permission(self, request, view):
        return False


def test_a_setting_puts_a_permission_before_those_of_all_views(any_operation, valid_body, settings):
    settings.USERGROUPS_PERMISSION_CLASSES = [f"{__name__}.Suspended"]
    type(any_operation.token).objects.update(read_only=True)

    error = problem(any_operation(valid_body), 403)

    assert (error["code"], error["detail"]) == ("suspended", "The organisation is suspended.")


@pytest.mark.once
def test_the_permissions_of_all_views_are_documented(settings):
    settings.USERGROUPS_PERMISSION_CLASSES = [f"{__name__}.Suspended"]

    document = SchemaGenerator(patterns=[path("user", UserGroupView.as_view())]).get_schema(public=True)

    refusals = {method: each["responses"]["403"]["$ref"] for method, each in document["paths"]["/user"].items()}
    read = "#/components/responses/UsergroupsSuspended"
    write = "#/components/responses/UsergroupsInsufficientScopeOrSuspended"
    assert refusals == {"get": read, "post": write, "put": write, "delete": write}


class CallerSerializer(Serializer):
    path = SerializerMethodField()

    def get_path(self, fields):
        return f"{self.context['request'].path} {type(self.context['view']).__name__}"


class NotOnSundays(BasePermission):
    message = "It is Sunday."
    code = "sunday"

    def has_permission(self, request, view):
        return False


def view(**attributes):
    return type("HostView", (UserGroupView,), attributes).as_view()


urlpatterns = [
    path("anyone", view(permission_classes=[AllowAny])),
    path("anon-throttle", view(throttle_classes=[OncePerDay])),
    path("user-throttle", view(throttle_classes=[OncePerDayPerUser])),
    path("never", view(throttle_classes=[Never])),
    path("sundays", view(permission_classes=[*UserGroupView.permission_classes, NotOnSundays])),
    path("user", view(authentication_classes=[ApiTokenAuthentication, SomeUser])),
    path("failing", view(authentication_classes=[FailingAuthentication])),
    path("nobody", view(authentication_classes=[])),
    path("plain-detail", view(permission_classes=[refusing({"plan": ["Too small."]})])),
    path("empty-detail", view(permission_classes=[refusing([])])),
    path("odd-code", view(permission_classes=[type("Odd", (NotOnSundays,), {"message": 3, "code": 4})])),
    path("context", view(response_serializers={"PUT": CallerSerializer})),
    path("basic", view(authentication_classes=[BasicAuthentication])),
]


@pytest.fixture
def call(client, api_token, user_group, settings):
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []

    def put(name, **extra):
        caller = Caller(client, "PUT", f"/{name}", "Token", api_token)
        return caller({"user_group_id": user_group.provided_id}, **extra)

    return put


def test_a_token_is_required_whatever_the_permissions_are(call):
    assert call("anyone").status_code == 200
    assert problem(call("anyone", HTTP_AUTHORIZATION=None), 401)["code"] == "not_authenticated"
    assert problem(call("anyone", HTTP_AUTHORIZATION="Basic eDp5"), 401)["code"] == "wrong_scheme"


@pytest.mark.parametrize("name", ["anon-throttle", "user-throttle"])
def test_the_throttles_of_rest_framework_work(call, name):
    first, second = call(name), call(name)

    assert first.status_code == 200
    assert problem(second, 429)["code"] == "throttled"
    assert int(second["Retry-After"]) > 0


def test_a_throttle_may_know_no_waiting_time(call):
    response = call("never")

    assert problem(response, 429)["code"] == "throttled"
    assert response["Retry-After"] == "1"


def test_another_permission_is_answered_with_its_message_and_code(call):
    refused = problem(call("sundays"), 403)

    assert (refused["code"], refused["detail"]) == ("sunday", "It is Sunday.")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain-detail", {"code": "error", "detail": "Too small.", "attr": "plan"}),
        ("empty-detail", {"code": "error", "detail": "A server error occurred.", "attr": None}),
        ("odd-code", {"code": "4", "detail": "3", "attr": None}),
    ],
)
def test_any_detail_has_the_shape_of_the_contract(call, name, expected):
    assert problem(call(name), 403) == expected


def test_an_authentication_that_fails_is_answered_with_500(call):
    response = call("failing")

    assert (response.status_code, json.loads(response.content)["type"]) == (500, "server_error")


def test_a_view_without_authentication_refuses_every_call(call):
    assert problem(call("nobody"), 403)["code"] == "wrong_scheme"


def test_serializers_know_the_request_and_the_view(call):
    assert json.loads(call("context").content) == {"path": "/context HostView"}


def test_a_user_of_the_host_is_not_taken_for_a_token(call):
    assert call("user").status_code == 200
    assert problem(call("user", HTTP_AUTHORIZATION=None), 401)["code"] == "not_authenticated"


def test_authentication_without_tokens_is_answered_with_its_challenge(call):
    User.objects.create_user("x", password="y")

    response = call("basic", HTTP_AUTHORIZATION="Basic eDp5")

    assert problem(response, 401)["code"] == "wrong_scheme"
    assert response["WWW-Authenticate"] == 'Basic realm="api"'
