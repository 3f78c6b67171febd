"""The user group operations."""

from typing import Any, cast

from django.db import IntegrityError
from django.utils.encoding import escape_uri_path
from django.utils.http import urlencode
from rest_framework.request import Request
from rest_framework.response import Response

from . import openapi
from .authentication import ApiTokenAuthentication
from .contract import batch
from .contract.errors import DatabaseUnavailable
from .contract.fields import Envelope
from .contract.pagination import Page
from .contract.views import ContractView
from .exceptions import AnswerTooLarge, UserGroupNotFound
from .models import ApiToken, Team, UserGroup
from .querysets import JSON_SIZE, UserGroupQuerySet
from .serializers import (
    NewUserGroupEnvelope,
    UserGroupBatchEnvelope,
    UserGroupBatchSerializer,
    UserGroupEnvelope,
    UserGroupIdSerializer,
    UserGroupListEnvelope,
    UserGroupListQuery,
    UserGroupSerializer,
    UserGroupUpdateSerializer,
)
from .tokens.authentication import InvalidToken, TokenPermission
from .tokens.throttling import TokenThrottle, expensive_call


class ApiTokenView(ContractView):
    """A view for a team's program; it sees the user groups of the team in the token's environment."""

    authentication_classes = [ApiTokenAuthentication]
    permission_classes = [TokenPermission]
    throttle_classes = [TokenThrottle]

    @property
    def token(self) -> ApiToken:
        return cast(ApiToken, self.request.auth)

    @property
    def user_groups(self) -> UserGroupQuerySet:
        return UserGroup.objects.visible_to(self.token)

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, UserGroup.DoesNotExist):
            exc = UserGroupNotFound()
        elif isinstance(exc, IntegrityError):
            # Either the team was deleted during the call, and the token with it, or each attempt met a conflict.
            exists = Team.objects.filter(pk=self.token.team_id).exists()
            answer = DatabaseUnavailable() if exists else InvalidToken()
            answer.__cause__ = exc  # for the log
            exc = answer
        return super().handle_exception(exc)


class UserGroupView(ApiTokenView):
    @openapi.get_user_group
    def get(self, request: Request) -> Response:
        query = self.validated(UserGroupIdSerializer, request.query_params)
        user_group = self.user_groups.get(**query)
        return Response(UserGroupEnvelope({"user_group": user_group}).data)

    @openapi.create_user_group
    def post(self, request: Request) -> Response:
        fields = self.validated(UserGroupUpdateSerializer, request.data)
        provided_id = fields["provided_id"]
        user_group, created = UserGroup.objects.get_or_add(provided_id, self.token.scope, fields)
        envelope = NewUserGroupEnvelope({"user_group": user_group, "new_user_group": created})
        if not created:
            return Response(envelope.data)
        location = f"{escape_uri_path(request.path)}?{urlencode({'user_group_id': provided_id})}"
        return Response(envelope.data, status=201, headers={"Location": location})

    @openapi.update_user_group
    def put(self, request: Request) -> Response:
        fields = self.validated(UserGroupUpdateSerializer, request.data)
        user_group = self.user_groups.change(**fields)
        return Response(UserGroupEnvelope({"user_group": user_group}).data)

    @openapi.delete_user_group
    def delete(self, request: Request) -> Response:
        query = self.validated(UserGroupIdSerializer, request.query_params)
        self.user_groups.remove(**query)
        return Response(Envelope({}).data)


class UserGroupTokenView(ApiTokenView):
    @openapi.rotate_user_group_token
    def post(self, request: Request) -> Response:
        fields = self.validated(UserGroupIdSerializer, request.data)
        user_group = self.user_groups.rotate_token(**fields)
        return Response(UserGroupEnvelope({"user_group": user_group}).data)


class UserGroupsView(ApiTokenView):
    @openapi.list_user_groups
    def get(self, request: Request) -> Response:
        query = self.validated(UserGroupListQuery, request.query_params)
        user_groups = self.user_groups
        if "updated_since" in query:
            user_groups = user_groups.filter(updated_at__gte=query["updated_since"])
        if "name" in query:
            user_groups = user_groups.named_from(query["name"])
        page = Page(user_groups, "provided_id", query["limit"], query.get("cursor"), size=JSON_SIZE)
        return Response(UserGroupListEnvelope({"user_groups": page.items, **page.links(request)}).data)


MAX_ANSWER_SIZE = 32 * 1024 * 1024
"""Bytes of stored JSON in the answer to a batch, in which 1,000 items of a few bytes may each name a large group."""


class UserGroupBatchView(ApiTokenView):
    parser_classes = [batch.BatchParser]

    @openapi.put_user_groups
    def post(self, request: Request) -> Response:
        with expensive_call(self.token.team):
            return Response(self.put_all(request.data))

    def put_all(self, data: Any) -> Any:
        items = self.validated(UserGroupBatchSerializer, data)["user_groups"]
        if self.user_groups.answer_size(batch.valid(items)) > MAX_ANSWER_SIZE:
            raise AnswerTooLarge(MAX_ANSWER_SIZE)
        done = UserGroup.objects.put(batch.valid(items), self.token.scope)
        answers = (
            (201 if new else 200, {"user_group": UserGroupSerializer(user_group).data, "new_user_group": new})
            for user_group, new in done
        )
        return UserGroupBatchEnvelope({"results": batch.results(items, answers)}).data
