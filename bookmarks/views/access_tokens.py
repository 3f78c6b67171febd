"""The operations on the access tokens of user groups."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, cast

from django.db import IntegrityError
from django.db.models import Q, QuerySet, Value
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from bookmarks import bookmark_errors, openapi, serializers
from bookmarks.models import AccessToken
from usergroups.api import batches
from usergroups.api.batches import FailedItem, Result
from usergroups.api.pagination import KeysetPagination, M, Page, ScanPage
from usergroups.api.views import BatchMixin, ListMixin, ObjectMixin
from usergroups.db.retry import retry_on_conflict
from usergroups.models import UserGroup
from usergroups.tokens.models import Revocation, TokenQuerySet, TooManyTokens
from usergroups.user_group_errors import UserGroupNotFound
from usergroups.views import ApiTokenView


class AccessTokenPagination(KeysetPagination):
    key = "digest"

    def searched(self, query: Mapping[str, Any]) -> Collection[str]:
        return ["expires_before"]

    def get_page(
        self, queryset: QuerySet[M], search: Mapping[str, Any], **paging: Any
    ) -> Page[M]:
        if not search:
            return super().get_page(queryset, search, **paging)
        # The size to search counts as zero. Only the number of tokens is
        # limited.
        return ScanPage(
            queryset,
            self.key,
            condition=Q(expires_at__lt=search["expires_before"]),
            searched_size=Value(0),
            **paging,
        )


def with_expiry(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a new access token with its ``expires_at`` in place
    of ``expires_in``, if they have it.
    """
    if "expires_in" not in fields:
        return fields
    lifetime = timedelta(seconds=fields.pop("expires_in"))
    return {**fields, "expires_at": timezone.now() + lifetime}


class AccessTokensView(ListMixin, ApiTokenView):
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
    errors = {
        **ApiTokenView.errors,
        # The user group has just been deleted.
        IntegrityError: UserGroupNotFound,
        TooManyTokens: bookmark_errors.TooManyAccessTokens,
    }

    @openapi.list_access_tokens
    def get(self, request: Request) -> Response:
        return self.list(request)

    @openapi.issue_access_token
    def post(self, request: Request) -> Response:
        serializer = self.get_valid_serializer()
        self.perform_create(serializer)
        token = cast(AccessToken, serializer.instance)
        # The list of its tokens, because a single one cannot be read.
        location = self.location_of(token.user_group)
        return self.respond({"access_token": token}, status=201, location=location)

    def get_queryset(self) -> QuerySet[Any]:
        """Return the tokens of the user group in the query.

        Raises UserGroup.DoesNotExist.
        """
        provided_id = self.query["provided_id"]
        user_group = self.user_groups.only("provided_id").get(provided_id=provided_id)
        tokens: TokenQuerySet[Any] = user_group.access_tokens.all()
        return tokens.with_lineage()

    def perform_create(self, serializer: Serializer[Any]) -> None:
        """Issue the token."""
        fields = with_expiry(serializer.validated_data)
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
        return self.respond(revocation._asdict())

    def get_queryset(self) -> QuerySet[Any]:
        return AccessToken.objects.for_write().filter(**self.token.scope)

    def find_object(self) -> AccessToken:
        tokens = cast(TokenQuerySet[AccessToken], self.get_queryset())
        return tokens.get_by_public_id(self.kwargs["id"])

    def perform_destroy(self, instance: AccessToken) -> Revocation:
        """Revoke the token. Raises AccessToken.DoesNotExist."""
        tokens = AccessToken.objects.filter(**self.token.scope)
        [revocation] = tokens.revoke_by_public_ids([instance.public_id], **self.query)
        if revocation is None:
            raise AccessToken.DoesNotExist
        return revocation


class AccessTokenBatchView(BatchMixin, ApiTokenView):
    serializer_class = serializers.AccessTokenSerializer
    errors = {**ApiTokenView.errors, TooManyTokens: bookmark_errors.TooManyAccessTokens}
    request_serializers = {"POST": serializers.AccessTokenBatchSerializer}
    response_serializers = {"POST": serializers.AccessTokenBatchEnvelope}
    costly_methods = ("POST",)

    @openapi.issue_access_tokens
    def post(self, request: Request) -> Response:
        fields = with_expiry(self.get_valid_serializer().validated_data)
        ids = fields.pop("user_group_ids")
        using = AccessToken.objects.for_write().db
        return retry_on_conflict(lambda: self.issue(ids, fields), using)

    def issue(self, ids: list[str | FailedItem], fields: dict[str, Any]) -> Response:
        """Issue the tokens, and return a response with all results.

        Raises IntegrityError if a user group has been deleted meanwhile.
        """
        items = self.with_user_groups(ids)
        issued = AccessToken.objects.issue_for_each(batches.valid(items), **fields)
        results = batches.results(items, map(self.result, issued))
        return self.respond({"results": results})

    def with_user_groups(
        self, ids: list[str | FailedItem]
    ) -> list[UserGroup | FailedItem]:
        """Return the user groups with these ids, and a FailedItem for each
        that does not exist.
        """
        found = self.user_groups.for_write().only("provided_id")
        found = found.filter(provided_id__in=batches.valid(ids))
        user_groups = {user_group.provided_id: user_group for user_group in found}
        items: list[UserGroup | FailedItem] = []
        for each in ids:
            if isinstance(each, FailedItem):
                items.append(each)
            elif each in user_groups:
                items.append(user_groups[each])
            else:
                items.append(self.failed(UserGroup.DoesNotExist()))
        return items

    def result(self, issued: tuple[AccessToken, str] | None) -> Result:
        """Return the result of an item, for what ``issue_for_each`` returns."""
        if issued is None:
            return self.failed(TooManyTokens())
        token, secret = issued
        # for this response only
        token.secret = secret  # type: ignore[attr-defined]
        return {"access_token": token, "status": 201, "changed": True}


class AccessTokenBatchRevocationView(BatchMixin, ApiTokenView):
    errors = AccessTokenDetailView.errors
    request_serializers = {"POST": serializers.AccessTokenIdsSerializer}
    response_serializers = {"POST": serializers.AccessTokenBatchRevocationEnvelope}
    costly_methods = ("POST",)

    @openapi.revoke_access_tokens
    def post(self, request: Request) -> Response:
        return self.revoke(**self.get_valid_serializer().validated_data)

    def revoke(self, ids: list[Any], successors: bool = False) -> Response:
        """Revoke the tokens, and return a response with all results."""
        tokens = AccessToken.objects.filter(**self.token.scope)
        revocations = tokens.revoke_by_public_ids(
            batches.valid(ids), successors=successors
        )
        results = batches.results(ids, map(self.result, revocations))
        return self.respond({"results": results})

    def result(self, revocation: Revocation | None) -> Result:
        """Return the result of an item, for what ``revoke_by_public_ids``
        returns.
        """
        if revocation is None:
            return self.failed(AccessToken.DoesNotExist())
        changed = bool(revocation.revoked)
        return {"status": 200, "changed": changed, **revocation._asdict()}


class TeamAccessTokensView(ListMixin, ApiTokenView):
    request_serializers = {"GET": serializers.TeamAccessTokenListQuery}
    response_serializers = {"GET": serializers.TeamAccessTokenListEnvelope}
    serializer_class = serializers.AccessTokenSerializer
    pagination_class = AccessTokenPagination
    list_name = "access_tokens"

    @openapi.list_team_access_tokens
    def get(self, request: Request) -> Response:
        return self.list(request)

    def get_queryset(self) -> QuerySet[Any]:
        tokens = AccessToken.objects.filter(**self.token.scope)
        tokens = tokens.with_lineage().select_related("user_group")
        return tokens.defer("user_group__mapping", "user_group__properties")
