"""The user group operations."""

from typing import Any, cast

from django.db.models import QuerySet
from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from drf_spectacular.utils import extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from . import openapi, serializers
from .api.batches import Result
from .api.pagination import CREATED, UPDATED, KeysetPagination
from .api.parsers import BatchParser
from .api.preconditions import PreconditionFailed, accepted_versions
from .api.serializers import AnySerializer, Envelope, Validated
from .api.views import (
    BatchMixin,
    CreateMixin,
    ListMixin,
    ObjectMixin,
    StoringBatchMixin,
)
from .authentication import ApiTokenAuthentication
from .db.cascades import TooManyDependants
from .db.stored_json import StoredSize
from .db.versions import Modified
from .deleted_user_groups import UserGroupDeletion
from .models import ApiToken, UserGroup
from .querysets import LARGE_FIELDS, Upserted, UserGroupQuerySet
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

    @property
    def owner_of_list(self) -> object:
        return self.token.scope

    def get_queryset(self) -> QuerySet[Any]:
        return self.user_groups

    def location_of(self, instance: Any) -> str:
        """Return the path of the request with the id of this user group in the
        query string.
        """
        query = urlencode({"user_group_id": instance.provided_id})
        return f"{escape_uri_path(self.request.path)}?{query}"


class DescribeApiTokenView(ApiTokenView):
    response_serializers = {"GET": serializers.ApiTokenEnvelope}

    @openapi.get_api_token
    def get(self, request: Request) -> Response:
        token = self.token
        return self.respond(
            {
                "token": self.token_with_lineage(),
                "team_id": token.team_id,
                "api_environment_tag": token.environment,
            }
        )


@extend_schema_view(post=openapi.rotate_api_token)
class RotateApiTokenView(RotateTokenView, ApiTokenView):
    pass


class UserGroupObjectMixin(ObjectMixin, ApiTokenView):
    """Reads, changes or deletes the user group with the id in the request."""

    serializer_class = serializers.UserGroupSerializer
    object_name = "user_group"

    def find_object(self) -> UserGroup:
        provided_id = self.validated_data["provided_id"]
        user_group: UserGroup = self.get_queryset().get(provided_id=provided_id)
        return user_group


@extend_schema_view(post=openapi.create_user_group)
class UserGroupView(CreateMixin, UserGroupObjectMixin):
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

    @openapi.get_user_group
    def get(self, request: Request) -> Response:
        return self.retrieve(request)

    @openapi.update_user_group
    def put(self, request: Request) -> Response:
        return self.update(request)

    @openapi.delete_user_group
    def delete(self, request: Request) -> Response:
        return self.destroy(request)

    def fields_of(self, instance: UserGroup) -> dict[str, object]:
        return {"user_group": instance, "new_user_group": self.created}

    def perform_create(self, serializer: AnySerializer) -> None:
        """Get or create the user group."""
        fields = serializer.validated_data
        serializer.instance, self.created = UserGroup.objects.get_or_add(
            fields["provided_id"], self.token.scope, fields
        )

    def perform_update(self, serializer: AnySerializer) -> None:
        serializer.instance = UserGroup.objects.update_by_provided_id(
            scope=self.token.scope,
            versions=accepted_versions(self.request),
            **serializer.validated_data,
        )

    def perform_destroy(self, instance: UserGroup | None) -> None:
        UserGroup.objects.delete_by_provided_id(
            scope=self.token.scope,
            versions=accepted_versions(self.request),
            **self.validated_data,
        )


class RotateUserGroupTokenView(UserGroupObjectMixin):
    request_serializers = {"POST": serializers.UserGroupIdSerializer}
    response_serializers = {"POST": serializers.UserGroupEnvelope}

    @openapi.rotate_user_group_token
    def post(self, request: Request) -> Response:
        return self.update(request)

    def perform_update(self, serializer: AnySerializer) -> None:
        """Rotate the token of the user group."""
        serializer.instance = UserGroup.objects.rotate_token(
            scope=self.token.scope, **serializer.validated_data
        )


class ResolveView(UserGroupObjectMixin):
    request_serializers = {"POST": serializers.UserGroupTokenSerializer}
    response_serializers = {"POST": serializers.UserGroupDetailEnvelope}
    # A read-only token may call these methods.
    safe_methods = ("POST",)
    errors = {**ApiTokenView.errors, UserGroup.DoesNotExist: UnknownUserGroupToken}

    @openapi.resolve_user_group
    def post(self, request: Request) -> Response:
        return self.retrieve(request)

    def find_object(self) -> UserGroup:
        user_groups = cast(UserGroupQuerySet, self.get_queryset())
        return user_groups.get_by_token(**self.validated_data)


class UserGroupPagination(KeysetPagination):
    key = "provided_id"
    key_from_text = str
    size = StoredSize(*LARGE_FIELDS)

    # A search reads the names, which are short, and counts only rows.
    searched = {CREATED: ["name"], UPDATED: ["name"]}


@extend_schema_view(get=openapi.list_user_groups)
class UserGroupsView(ListMixin, ApiTokenView):
    request_serializers = {"GET": serializers.UserGroupListQuery}
    response_serializers = {"GET": serializers.UserGroupListEnvelope}
    serializer_class = serializers.UserGroupSerializer
    pagination_class = UserGroupPagination
    list_name = "user_groups"
    costly_methods = ("GET",)  # A page may have megabytes of JSON.


@extend_schema_view(get=openapi.list_user_group_deletions)
class UserGroupDeletionsView(ListMixin, ApiTokenView):
    request_serializers = {"GET": serializers.DeletionListQuery}
    response_serializers = {"GET": serializers.UserGroupDeletionListEnvelope}
    serializer_class = serializers.UserGroupDeletionSerializer
    list_name = "deletions"

    def get_queryset(self) -> QuerySet[UserGroupDeletion]:
        return UserGroupDeletion.objects.filter(**self.token.scope)


@extend_schema_view(post=openapi.put_user_groups)
class UserGroupBatchView(StoringBatchMixin, ApiTokenView):
    serializer_class = serializers.UserGroupSerializer
    request_serializers = {"POST": serializers.UserGroupBatchSerializer}
    response_serializers = {"POST": serializers.UserGroupBatchEnvelope}
    list_name = "user_groups"
    object_name = "user_group"
    parser_classes = [BatchParser]

    def perform_batch(self, items: list[Validated]) -> list[Upserted | Exception]:
        return UserGroup.objects.upsert_each(items, self.token.scope)

    def result(self, outcome: Upserted) -> Result:
        return {**super().result(outcome), "new_user_group": outcome.created}


@extend_schema_view(post=openapi.delete_user_groups)
class UserGroupBatchDeletionView(BatchMixin, ApiTokenView):
    request_serializers = {"POST": serializers.UserGroupIdsSerializer}
    response_serializers = {"POST": serializers.UserGroupDeletionEnvelope}
    list_name = "user_group_ids"

    def perform_batch(self, items: list[str]) -> list[bool | Exception]:
        deadline = self.request.deadline
        return UserGroup.objects.delete_each(items, self.token.scope, deadline)
