"""The operations on the access tokens of user groups, and of an access token on
itself.
"""

from typing import Any, cast

from django.db import IntegrityError
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import bookmark_errors, openapi, serializers
from bookmarks.models import AccessToken
from usergroups.api.batches import Result
from usergroups.api.pagination import CREATED, KeysetPagination
from usergroups.api.serializers import AnySerializer
from usergroups.api.views import BatchMixin, CreateMixin, ListMixin, ObjectMixin
from usergroups.db.outcomes import valid_items, with_outcomes
from usergroups.db.retry import retry_on_conflict
from usergroups.models import UserGroup
from usergroups.tokens.models import Revocation, TokenQuerySet, TooManyTokens
from usergroups.tokens.views import RotateTokenView
from usergroups.user_group_errors import UserGroupNotFound
from usergroups.views import ApiTokenView

from .access_token_view import AccessTokenView


class AccessTokenPagination(KeysetPagination):
    key = "digest"
    key_from_text = bytes.fromhex

    # A search reads times, and counts only rows.
    searched = {CREATED: ["expires_before"]}


@extend_schema_view(get=openapi.list_access_tokens, post=openapi.issue_access_token)
class AccessTokensView(ListMixin, CreateMixin, ApiTokenView):
    request_serializers = {
        "GET": serializers.AccessTokenListQuery,
        "POST": serializers.AccessTokenCreateSerializer,
    }
    response_serializers = {
        "GET": serializers.AccessTokenListEnvelope,
        "POST": serializers.IssuedAccessTokenEnvelope,
    }
    serializer_class = serializers.AccessTokenSerializer
    pagination_class = AccessTokenPagination
    list_name = "access_tokens"
    object_name = "access_token"
    errors = {
        **ApiTokenView.errors,
        # The user group has just been deleted.
        IntegrityError: UserGroupNotFound,
        TooManyTokens: bookmark_errors.TooManyAccessTokens,
    }

    def location_of(self, instance: Any) -> str:
        # The list of its tokens, because a single one cannot be read.
        return super().location_of(instance.user_group)

    def get_queryset(self) -> QuerySet[AccessToken]:
        """Return the tokens of the user group in the query.

        Raises UserGroup.DoesNotExist.
        """
        provided_id = self.validated_data["provided_id"]
        user_group = self.user_groups.only("provided_id").get(provided_id=provided_id)
        tokens: TokenQuerySet[AccessToken] = user_group.access_tokens.all()
        return tokens.with_lineage()

    def perform_create(self, serializer: AnySerializer) -> None:
        """Issue the token."""
        fields = serializer.validated_data
        user_groups = self.user_groups.for_write().only("provided_id")
        user_group = user_groups.get(provided_id=fields.pop("provided_id"))
        token, secret = AccessToken.objects.issue(user_group=user_group, **fields)
        # for this response only
        token.secret = secret  # type: ignore[attr-defined]
        serializer.instance = token


class AccessTokenDetailView(ObjectMixin, ApiTokenView):
    request_serializers = {"DELETE": serializers.AccessTokenRevocationQuery}
    response_serializers = {"DELETE": serializers.AccessTokenRevocationEnvelope}
    errors = {
        **ApiTokenView.errors,
        AccessToken.DoesNotExist: bookmark_errors.AccessTokenNotFound,
    }

    @openapi.revoke_access_token
    def delete(self, request: Request, id: str) -> Response:
        revocation = self.perform_destroy(self.get_object())
        return self.respond(vars(revocation))

    def get_queryset(self) -> QuerySet[AccessToken]:
        return AccessToken.objects.for_write().filter(**self.token.scope)

    def find_object(self) -> AccessToken:
        tokens = cast(TokenQuerySet[AccessToken], self.get_queryset())
        return tokens.get_by_public_id(self.kwargs["id"])

    def perform_destroy(self, instance: AccessToken) -> Revocation:
        """Revoke the token. Raises AccessToken.DoesNotExist."""
        tokens = AccessToken.objects.filter(**self.token.scope)
        [revocation] = tokens.revoke_by_public_ids(
            [instance.public_id], **self.validated_data
        )
        if revocation is None:
            raise AccessToken.DoesNotExist
        return revocation


@extend_schema_view(post=openapi.issue_access_tokens)
class AccessTokenBatchView(BatchMixin, ApiTokenView):
    serializer_class = serializers.AccessTokenSerializer
    errors = {**ApiTokenView.errors, TooManyTokens: bookmark_errors.TooManyAccessTokens}
    request_serializers = {"POST": serializers.AccessTokenBatchSerializer}
    response_serializers = {"POST": serializers.AccessTokenBatchEnvelope}
    list_name = "user_group_ids"

    def perform_batch(self, items: list[str], **fields: object) -> list[object]:
        tokens = AccessToken.objects.for_write()
        groups = self.user_groups.for_write().only("provided_id")

        def issue() -> list[object]:
            # An IntegrityError means that a user group has just been deleted.
            found = groups.filter(provided_id__in=items)
            by_id = {user_group.provided_id: user_group for user_group in found}
            owners = [by_id.get(each, UserGroup.DoesNotExist()) for each in items]
            issued = AccessToken.objects.issue_for_each(valid_items(owners), **fields)
            outcomes = [each or TooManyTokens() for each in issued]
            return with_outcomes(owners, outcomes)

        return retry_on_conflict(issue, tokens.db)

    def result(self, outcome: tuple[AccessToken, str]) -> Result:
        token, secret = outcome
        # for this response only
        token.secret = secret  # type: ignore[attr-defined]
        return {"access_token": token, "status": 201, "changed": True}


@extend_schema_view(post=openapi.revoke_access_tokens)
class AccessTokenBatchRevocationView(BatchMixin, ApiTokenView):
    errors = AccessTokenDetailView.errors
    request_serializers = {"POST": serializers.AccessTokenIdsSerializer}
    response_serializers = {"POST": serializers.AccessTokenBatchRevocationEnvelope}
    list_name = "ids"

    def perform_batch(self, items: list[str], successors: bool = False) -> list[object]:
        tokens = AccessToken.objects.filter(**self.token.scope)
        revocations = tokens.revoke_by_public_ids(items, successors=successors)
        return [each or AccessToken.DoesNotExist() for each in revocations]

    def result(self, outcome: Revocation) -> Result:
        changed = bool(outcome.revoked)
        return {"status": 200, "changed": changed, **vars(outcome)}


@extend_schema_view(get=openapi.list_team_access_tokens)
class TeamAccessTokensView(ListMixin, ApiTokenView):
    request_serializers = {"GET": serializers.TeamAccessTokenListQuery}
    response_serializers = {"GET": serializers.TeamAccessTokenListEnvelope}
    serializer_class = serializers.AccessTokenSerializer
    pagination_class = AccessTokenPagination
    list_name = "access_tokens"

    def get_queryset(self) -> QuerySet[AccessToken]:
        tokens = AccessToken.objects.filter(**self.token.scope)
        tokens = tokens.with_lineage().select_related("user_group")
        return tokens.defer("user_group__mapping", "user_group__properties")


class DescribeAccessTokenView(AccessTokenView):
    response_serializers = {"GET": serializers.DescribedAccessTokenEnvelope}
    # loaded for the user group in the response
    large_owner_fields = {"GET": ("properties",), "HEAD": ("properties",)}

    @openapi.get_access_token
    def get(self, request: Request) -> Response:
        token = self.token_with_lineage()
        return self.respond({"token": token, "user_group": self.user_group})


@extend_schema_view(post=openapi.rotate_access_token)
class RotateAccessTokenView(RotateTokenView, AccessTokenView):
    pass
