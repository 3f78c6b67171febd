"""The operations on the access tokens of user groups."""

from datetime import timedelta
from typing import Any

from django.db import IntegrityError
from django.db.models import Q, Value
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import exceptions, openapi, serializers
from bookmarks.models import AccessToken
from usergroups.api import batches
from usergroups.api.batches import FailedItem, Result
from usergroups.api.envelopes import Envelope
from usergroups.api.pagination import Page
from usergroups.api.scan_pages import ScanPage
from usergroups.db.retry import retry_on_conflict
from usergroups.exceptions import UserGroupNotFound
from usergroups.models import UserGroup
from usergroups.tokens.models import TooManyTokens
from usergroups.views import ApiTokenView


def with_expiry(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a new access token with its ``expires_at`` in place
    of ``expires_in``, if they have it.
    """
    if "expires_in" not in fields:
        return fields
    lifetime = timedelta(seconds=fields.pop("expires_in"))
    return {**fields, "expires_at": timezone.now() + lifetime}


class AccessTokensView(ApiTokenView):
    request_serializers = {
        "GET": serializers.AccessTokenListQuery,
        "POST": serializers.AccessTokenCreateSerializer,
    }
    response_serializers = {
        "GET": serializers.AccessTokenListEnvelope,
        "POST": serializers.IssuedAccessTokenEnvelope,
    }
    errors = {
        **ApiTokenView.errors,
        # The user group has just been deleted.
        IntegrityError: UserGroupNotFound,
        TooManyTokens: exceptions.TooManyAccessTokens,
    }

    @openapi.list_access_tokens
    def get(self, request: Request) -> Response:
        query = self.validated()
        provided_id = query.pop("provided_id")
        user_group = self.user_groups.only("provided_id").get(provided_id=provided_id)
        page = Page(user_group.access_tokens.all(), "digest", **query)
        return self.respond({"access_tokens": page.items, **page.links(request)})

    @openapi.issue_access_token
    def post(self, request: Request) -> Response:
        fields = with_expiry(self.validated())
        provided_id = fields.pop("provided_id")
        user_groups = self.user_groups.for_write().only("provided_id")
        user_group = user_groups.get(provided_id=provided_id)
        token, secret = AccessToken.objects.issue(user_group=user_group, **fields)
        # for this response only
        token.secret = secret  # type: ignore[attr-defined]
        # The list of its tokens, because a single one cannot be read.
        location = self.location_of(user_group)
        return self.respond({"access_token": token}, status=201, location=location)


class AccessTokenDetailView(ApiTokenView):
    response_serializers = {"DELETE": Envelope}
    errors = {
        **ApiTokenView.errors,
        AccessToken.DoesNotExist: exceptions.AccessTokenNotFound,
    }

    @openapi.revoke_access_token
    def delete(self, request: Request, id: str) -> Response:
        tokens = AccessToken.objects.for_write().filter(**self.token.scope)
        tokens.get_by_public_id(id).revoke()
        return self.respond({})


class AccessTokenBatchView(ApiTokenView):
    errors = {**ApiTokenView.errors, TooManyTokens: exceptions.TooManyAccessTokens}
    request_serializers = {"POST": serializers.AccessTokenBatchSerializer}
    response_serializers = {"POST": serializers.AccessTokenBatchEnvelope}
    costly_methods = ("POST",)

    @openapi.issue_access_tokens
    def post(self, request: Request) -> Response:
        fields = with_expiry(self.validated())
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


class AccessTokenBatchRevocationView(ApiTokenView):
    errors = AccessTokenDetailView.errors
    request_serializers = {"POST": serializers.AccessTokenIdsSerializer}
    response_serializers = {"POST": serializers.AccessTokenRevocationEnvelope}
    costly_methods = ("POST",)

    @openapi.revoke_access_tokens
    def post(self, request: Request) -> Response:
        ids = self.validated()["ids"]
        tokens = AccessToken.objects.filter(**self.token.scope)
        revoked = tokens.revoke_by_public_ids(batches.valid(ids))
        results = batches.results(ids, map(self.result, revoked))
        return self.respond({"results": results})

    def result(self, revoked: bool | None) -> Result:
        """Return the result of an item, for what ``revoke_by_public_ids``
        returns.
        """
        if revoked is None:
            return self.failed(AccessToken.DoesNotExist())
        return {"status": 200, "changed": revoked}


class TeamAccessTokensView(ApiTokenView):
    request_serializers = {"GET": serializers.TeamAccessTokenListQuery}
    response_serializers = {"GET": serializers.TeamAccessTokenListEnvelope}

    @openapi.list_team_access_tokens
    def get(self, request: Request) -> Response:
        query = self.validated()
        expires_before = query.pop("expires_before", None)
        tokens = AccessToken.objects.filter(**self.token.scope)
        tokens = tokens.select_related("user_group")
        tokens = tokens.defer("user_group__mapping", "user_group__properties")
        page: Page[AccessToken]
        if expires_before is None:
            page = Page(tokens, "digest", **query)
        else:
            # The size to search counts as zero. Only the number of tokens is
            # limited.
            page = ScanPage(
                tokens,
                "digest",
                condition=Q(expires_at__lt=expires_before),
                searched_size=Value(0),
                **query,
            )
        return self.respond({"access_tokens": page.items, **page.links(request)})
