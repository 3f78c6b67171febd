"""The user group operations."""

from collections.abc import Collection, Mapping
from typing import Any, cast

from django.db.models import ProtectedError, QuerySet, RestrictedError, Value
from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from . import openapi, serializers
from .api import batches
from .api.envelopes import Envelope
from .api.limits import TimeLimitExceeded
from .api.pagination import KeysetPagination, M, Page, ScanPage
from .api.parsers import BatchParser
from .api.requests import PreconditionFailed, accepted_versions
from .api.views import BatchMixin, ListMixin, ObjectMixin
from .authentication import ApiTokenAuthentication
from .db.cascades import TooManyDependants
from .db.stored_json import StoredSize
from .db.versions import Modified
from .deletion_log import UserGroupDeletion
from .models import ApiToken, UserGroup
from .querysets import LARGE_FIELDS, Upserted, UserGroupQuerySet, name_begins_with
from .tokens.views import RotateTokenView, TokenView
from .user_group_errors import (
    TooLargeToDelete,
    UnknownUserGroupToken,
    UserGroupNotFound,
)


class ApiTokenView(TokenView):
    """A view that authenticates with an API token."""

    authentication_classes = [ApiTokenAuthentication]
    errors = {
        UserGroup.DoesNotExist: UserGroupNotFound,
        Modified: PreconditionFailed,
        TooManyDependants: TooLargeToDelete,
    }

    @property
    def token(self) -> ApiToken:
        return cast(ApiToken, self.request.auth)

    @property
    def user_groups(self) -> UserGroupQuerySet:
        """The user groups that the token gives access to."""
        return UserGroup.objects.filter(**self.token.scope)

    def get_queryset(self) -> QuerySet[Any]:
        return self.user_groups

    def location_of(self, user_group: UserGroup) -> str:
        """Return the path of the request with the id of this user group in the
        query string.
        """
        query = urlencode({"user_group_id": user_group.provided_id})
        return f"{escape_uri_path(self.request.path)}?{query}"


class DescribeApiTokenView(ApiTokenView):
    response_serializers = {"GET": serializers.ApiTokenEnvelope}

    @openapi.get_api_token
    def get(self, request: Request) -> Response:
        token = self.token
        return self.respond(
            {
                "token": self.described_token(),
                "team_id": token.team_id,
                "api_environment_tag": token.environment,
            }
        )


class RotateApiTokenView(RotateTokenView, ApiTokenView):
    @openapi.rotate_api_token
    def post(self, request: Request) -> Response:
        return self.rotate(request)


class UserGroupView(ObjectMixin, ApiTokenView):
    request_serializers = {
        "GET": serializers.UserGroupIdQuery,
        "POST": serializers.UserGroupUpdateSerializer,
        "PUT": serializers.UserGroupUpdateSerializer,
        "DELETE": serializers.UserGroupIdQuery,
    }
    response_serializers = {
        "GET": serializers.UserGroupDetailEnvelope,
        "POST": serializers.NewUserGroupEnvelope,
        "PUT": serializers.UserGroupEnvelope,
        "DELETE": Envelope,
    }
    serializer_class = serializers.UserGroupSerializer

    @openapi.get_user_group
    def get(self, request: Request) -> Response:
        self.provided_id = self.query["provided_id"]
        user_group = self.get_object()
        return self.respond({"user_group": user_group}, etag_of=user_group)

    @openapi.create_user_group
    def post(self, request: Request) -> Response:
        serializer = self.get_valid_serializer()
        self.perform_create(serializer)
        user_group = cast(UserGroup, serializer.instance)
        data = {"user_group": user_group, "new_user_group": self.created}
        if not self.created:
            self.check_object_permissions(request, user_group)
            return self.respond(data, etag_of=user_group)
        return self.respond(
            data, etag_of=user_group, status=201, location=self.location_of(user_group)
        )

    @openapi.update_user_group
    def put(self, request: Request) -> Response:
        serializer = self.get_valid_serializer()
        self.provided_id = serializer.validated_data["provided_id"]
        serializer.instance = self.check_object("perform_update")
        self.perform_update(serializer)
        user_group = serializer.instance
        return self.respond({"user_group": user_group}, etag_of=user_group)

    @openapi.delete_user_group
    def delete(self, request: Request) -> Response:
        self.provided_id = self.query["provided_id"]
        self.perform_destroy(self.check_object("perform_destroy"))
        return self.respond({})

    def find_object(self) -> UserGroup:
        user_group: UserGroup = self.get_queryset().get(provided_id=self.provided_id)
        return user_group

    def perform_create(self, serializer: Serializer[Any]) -> None:
        """Get or create the user group."""
        fields = serializer.validated_data
        serializer.instance, self.created = UserGroup.objects.get_or_add(
            fields["provided_id"], self.token.scope, fields
        )

    def perform_update(self, serializer: Serializer[Any]) -> None:
        serializer.instance = UserGroup.objects.update_by_provided_id(
            scope=self.token.scope,
            versions=accepted_versions(self.request),
            **serializer.validated_data,
        )

    def perform_destroy(self, instance: UserGroup | None) -> None:
        """Delete the user group. Only a host has an ``instance``."""
        UserGroup.objects.delete_by_provided_id(
            scope=self.token.scope,
            versions=accepted_versions(self.request),
            **self.query,
        )


class RotateUserGroupTokenView(ObjectMixin, ApiTokenView):
    request_serializers = {"POST": serializers.UserGroupIdSerializer}
    response_serializers = {"POST": serializers.UserGroupEnvelope}
    serializer_class = serializers.UserGroupSerializer

    @openapi.rotate_user_group_token
    def post(self, request: Request) -> Response:
        serializer = self.get_valid_serializer()
        self.provided_id = serializer.validated_data["provided_id"]
        serializer.instance = self.check_object("perform_update")
        self.perform_update(serializer)
        user_group = serializer.instance
        return self.respond({"user_group": user_group}, etag_of=user_group)

    def find_object(self) -> UserGroup:
        user_group: UserGroup = self.get_queryset().get(provided_id=self.provided_id)
        return user_group

    def perform_update(self, serializer: Serializer[Any]) -> None:
        """Rotate the token of the user group."""
        serializer.instance = UserGroup.objects.rotate_token(
            scope=self.token.scope, **serializer.validated_data
        )


class ResolveView(ObjectMixin, ApiTokenView):
    request_serializers = {"POST": serializers.UserGroupTokenSerializer}
    response_serializers = {"POST": serializers.UserGroupDetailEnvelope}
    # A read-only token may call these methods.
    safe_methods = ("POST",)
    errors = {**ApiTokenView.errors, UserGroup.DoesNotExist: UnknownUserGroupToken}

    serializer_class = serializers.UserGroupSerializer

    @openapi.resolve_user_group
    def post(self, request: Request) -> Response:
        user_group = self.get_object()
        return self.respond({"user_group": user_group}, etag_of=user_group)

    def find_object(self) -> UserGroup:
        fields = self.get_valid_serializer().validated_data
        user_groups = cast(UserGroupQuerySet, self.get_queryset())
        return user_groups.get_by_token(**fields)


class UserGroupPagination(KeysetPagination):
    key = "provided_id"
    size = StoredSize(*LARGE_FIELDS)

    def searched(self, query: Mapping[str, Any]) -> Collection[str]:
        return ["name"]

    def get_page(
        self, queryset: QuerySet[M], search: Mapping[str, Any], **paging: Any
    ) -> Page[M]:
        if not search:
            return super().get_page(queryset, search, **paging)
        # A ScanPage limits the number and the size of the rows that it
        # searches. Names are short, so their size counts as zero.
        return ScanPage(
            queryset,
            self.key,
            condition=name_begins_with(search["name"]),
            searched_size=Value(0),
            size=self.size,
            **paging,
        )


class UserGroupsView(ListMixin, ApiTokenView):
    request_serializers = {"GET": serializers.UserGroupListQuery}
    response_serializers = {"GET": serializers.UserGroupListEnvelope}
    serializer_class = serializers.UserGroupSerializer
    pagination_class = UserGroupPagination
    list_name = "user_groups"
    costly_methods = ("GET",)  # A page may have megabytes of JSON.

    @openapi.list_user_groups
    def get(self, request: Request) -> Response:
        return self.list(request)


class UserGroupDeletionsView(ListMixin, ApiTokenView):
    request_serializers = {"GET": serializers.DeletionListQuery}
    response_serializers = {"GET": serializers.UserGroupDeletionListEnvelope}
    serializer_class = serializers.UserGroupDeletionSerializer
    list_name = "deletions"

    @openapi.list_user_group_deletions
    def get(self, request: Request) -> Response:
        return self.list(request)

    def get_queryset(self) -> QuerySet[Any]:
        return UserGroupDeletion.objects.filter(**self.token.scope)


class UserGroupBatchView(BatchMixin, ApiTokenView):
    serializer_class = serializers.UserGroupSerializer
    request_serializers = {"POST": serializers.UserGroupBatchSerializer}
    response_serializers = {"POST": serializers.UserGroupBatchEnvelope}
    costly_methods = ("POST",)
    parser_classes = [BatchParser]

    @openapi.put_user_groups
    def post(self, request: Request) -> Response:
        return self.store(**self.get_valid_serializer().validated_data)

    def store(self, user_groups: list[Any]) -> Response:
        """Store the valid items, and return a response with all results."""
        valid = batches.valid(user_groups)
        scope = self.token.scope
        size = UserGroup.objects.estimate_upsert_size(valid, scope)
        batches.require_small_results(size)
        stored = UserGroup.objects.upsert(valid, scope)
        results = batches.results(user_groups, map(self.result, stored))
        return self.respond({"results": results})

    def result(self, stored: Upserted) -> dict[str, object]:
        return {
            "user_group": stored.user_group,
            "new_user_group": stored.created,
            "changed": stored.changed,
            "updated_at": stored.user_group.updated_at,
            "status": 201 if stored.created else 200,
        }


class UserGroupBatchDeletionView(BatchMixin, ApiTokenView):
    request_serializers = {"POST": serializers.UserGroupIdsSerializer}
    response_serializers = {"POST": serializers.UserGroupDeletionEnvelope}
    costly_methods = ("POST",)

    @openapi.delete_user_groups
    def post(self, request: Request) -> Response:
        return self.remove(**self.get_valid_serializer().validated_data)

    def remove(self, user_group_ids: list[Any]) -> Response:
        """Delete the user groups, and return a response with all results."""
        valid_ids = batches.valid(user_group_ids)
        existing = UserGroup.objects.existing_ids(valid_ids, self.token.scope)
        deletions = [
            self.delete_item(provided_id, exists=provided_id in existing)
            for provided_id in valid_ids
        ]
        results = batches.results(user_group_ids, deletions)
        return self.respond({"results": results})

    def delete_item(self, provided_id: str, *, exists: bool) -> dict[str, object]:
        """Delete a user group, in a transaction of its own, and return the
        result of its item.
        """
        if self.request.deadline.has_passed():
            return self.failed(TimeLimitExceeded())
        if not exists:
            return self.failed(UserGroup.DoesNotExist())
        try:
            UserGroup.objects.delete_by_provided_id(provided_id, self.token.scope)
        except (
            UserGroup.DoesNotExist,
            TooManyDependants,
            ProtectedError,
            RestrictedError,
        ) as error:
            return self.failed(error)
        return {"status": 200, "changed": True}
