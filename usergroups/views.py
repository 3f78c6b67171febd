"""The user group operations."""

from typing import cast

from django.db.models import ProtectedError, RestrictedError, Value
from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from rest_framework.request import Request
from rest_framework.response import Response

from . import openapi, serializers
from .api import batches
from .api.deadlines import TimeLimitExceeded
from .api.envelopes import Envelope
from .api.page_queries import pop_paging
from .api.pagination import Page
from .api.parsers import BatchParser
from .api.preconditions import PreconditionFailed, accepted_versions
from .api.scan_pages import ScanPage
from .authentication import ApiTokenAuthentication
from .db.deletion import TooManyDependants
from .db.stored_json import StoredSize
from .db.versions import Modified
from .deletions import UserGroupDeletion
from .exceptions import (
    TooLargeToDelete,
    UnknownUserGroupToken,
    UserGroupNotFound,
)
from .models import ApiToken, UserGroup
from .querysets import LARGE_FIELDS, Upserted, UserGroupQuerySet, name_begins_with
from .tokens.views import RotateTokenView, TokenView


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
                "token": token,
                "team_id": token.team_id,
                "api_environment_tag": token.environment,
            }
        )


class RotateApiTokenView(RotateTokenView, ApiTokenView):
    @openapi.rotate_api_token
    def post(self, request: Request) -> Response:
        return self.rotate(request)


class UserGroupView(ApiTokenView):
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
        user_group = self.user_groups.get(**self.validated())
        return self.respond({"user_group": user_group}, etag_of=user_group)

    @openapi.create_user_group
    def post(self, request: Request) -> Response:
        fields = self.validated()
        provided_id = fields["provided_id"]
        user_group, created = UserGroup.objects.get_or_add(
            provided_id, self.token.scope, fields
        )
        data = {"user_group": user_group, "new_user_group": created}
        if not created:
            return self.respond(data, etag_of=user_group)
        return self.respond(
            data, etag_of=user_group, status=201, location=self.location_of(user_group)
        )

    @openapi.update_user_group
    def put(self, request: Request) -> Response:
        fields = self.validated()
        user_group = UserGroup.objects.update_by_provided_id(
            scope=self.token.scope, versions=accepted_versions(request), **fields
        )
        return self.respond({"user_group": user_group}, etag_of=user_group)

    @openapi.delete_user_group
    def delete(self, request: Request) -> Response:
        query = self.validated()
        UserGroup.objects.delete_by_provided_id(
            scope=self.token.scope, versions=accepted_versions(request), **query
        )
        return self.respond({})


class RotateUserGroupTokenView(ApiTokenView):
    request_serializers = {"POST": serializers.UserGroupIdSerializer}
    response_serializers = {"POST": serializers.UserGroupEnvelope}

    @openapi.rotate_user_group_token
    def post(self, request: Request) -> Response:
        user_group = UserGroup.objects.rotate_token(
            scope=self.token.scope, **self.validated()
        )
        return self.respond({"user_group": user_group}, etag_of=user_group)


class ResolveView(ApiTokenView):
    request_serializers = {"POST": serializers.UserGroupTokenSerializer}
    response_serializers = {"POST": serializers.UserGroupDetailEnvelope}
    # A read-only token may call these methods.
    safe_methods = ("POST",)
    errors = {**ApiTokenView.errors, UserGroup.DoesNotExist: UnknownUserGroupToken}

    @openapi.resolve_user_group
    def post(self, request: Request) -> Response:
        user_group = self.user_groups.get_by_token(**self.validated())
        return self.respond({"user_group": user_group}, etag_of=user_group)


class UserGroupsView(ApiTokenView):
    request_serializers = {"GET": serializers.UserGroupListQuery}
    response_serializers = {"GET": serializers.UserGroupListEnvelope}
    costly_methods = ("GET",)  # A page may have megabytes of JSON.

    @openapi.list_user_groups
    def get(self, request: Request) -> Response:
        query = self.validated()
        paging = pop_paging(query)
        user_groups = self.user_groups
        # The size of these fields limits the number of groups on a page.
        paging["size"] = StoredSize(*LARGE_FIELDS)
        if "name" not in query:
            page = Page(user_groups, "provided_id", **paging)
        else:
            # A ScanPage limits the number and the size of the rows that it
            # searches. Names are short, so their size counts as zero.
            page = ScanPage(
                user_groups,
                "provided_id",
                condition=name_begins_with(query["name"]),
                searched_size=Value(0),
                **paging,
            )
        return self.respond({"user_groups": page.items, **page.links(request)})


class UserGroupDeletionsView(ApiTokenView):
    request_serializers = {"GET": serializers.DeletionListQuery}
    response_serializers = {"GET": serializers.UserGroupDeletionListEnvelope}

    @openapi.list_user_group_deletions
    def get(self, request: Request) -> Response:
        deletions = UserGroupDeletion.objects.filter(**self.token.scope)
        page = Page(deletions, "id", **pop_paging(self.validated()))
        return self.respond({"deletions": page.items, **page.links(request)})


class UserGroupBatchView(ApiTokenView):
    request_serializers = {"POST": serializers.UserGroupBatchSerializer}
    response_serializers = {"POST": serializers.UserGroupBatchEnvelope}
    costly_methods = ("POST",)
    parser_classes = [BatchParser]

    @openapi.put_user_groups
    def post(self, request: Request) -> Response:
        items = self.validated()["user_groups"]
        valid = batches.valid(items)
        scope = self.token.scope
        size = UserGroup.objects.estimate_upsert_size(valid, scope)
        batches.require_small_results(size)
        stored = UserGroup.objects.upsert(valid, scope)
        valid_results = map(self.result, stored)
        return self.respond({"results": batches.results(items, valid_results)})

    def result(self, stored: Upserted) -> dict[str, object]:
        return {
            "user_group": stored.user_group,
            "new_user_group": stored.created,
            "changed": stored.changed,
            "updated_at": stored.user_group.updated_at,
            "status": 201 if stored.created else 200,
        }


class UserGroupBatchDeletionView(ApiTokenView):
    request_serializers = {"POST": serializers.UserGroupIdsSerializer}
    response_serializers = {"POST": serializers.UserGroupDeletionEnvelope}
    costly_methods = ("POST",)

    @openapi.delete_user_groups
    def post(self, request: Request) -> Response:
        ids = self.validated()["user_group_ids"]
        valid_ids = batches.valid(ids)
        existing = UserGroup.objects.existing_ids(valid_ids, self.token.scope)
        deletions = [
            self.delete_item(provided_id, exists=provided_id in existing)
            for provided_id in valid_ids
        ]
        return self.respond({"results": batches.results(ids, deletions)})

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
