"""Operations on the access tokens of a user group, which authenticate with an API token."""

from datetime import timedelta

from django.db import IntegrityError, router
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks.exceptions import AccessTokenNotFound
from bookmarks.models import AccessToken
from bookmarks.openapi import access_tokens as openapi
from bookmarks.serializers.access_tokens import (
    AccessTokenCreateSerializer,
    AccessTokenListEnvelope,
    AccessTokenListQuery,
    IssuedAccessTokenEnvelope,
)
from usergroups.contract.fields import Envelope
from usergroups.contract.pagination import Page
from usergroups.exceptions import UserGroupNotFound
from usergroups.views import ApiTokenView


class AccessTokensView(ApiTokenView):
    @openapi.list_access_tokens
    def get(self, request: Request) -> Response:
        query = self.validated(AccessTokenListQuery, request.query_params)
        user_group = self.user_groups.get(provided_id=query.pop("provided_id"))
        page = Page(user_group.access_tokens.all(), "digest", **query)
        return self.respond(AccessTokenListEnvelope, {"access_tokens": page.items, **page.links(request)})

    @openapi.issue_access_token
    def post(self, request: Request) -> Response:
        fields = self.validated(AccessTokenCreateSerializer, request.data)
        user_group = self.user_groups.for_write().get(provided_id=fields.pop("provided_id"))
        if "expires_in" in fields:
            fields["expires_at"] = timezone.now() + timedelta(seconds=fields.pop("expires_in"))
        try:
            token, secret = AccessToken.objects.issue(user_group=user_group, **fields)
        except IntegrityError:  # the user group has just been deleted
            raise UserGroupNotFound from None
        token.secret = secret  # type: ignore[attr-defined]  # for this response only
        location = self.location_of(user_group)
        return self.respond(IssuedAccessTokenEnvelope, {"access_token": token}, status=201, location=location)


class AccessTokenDetailView(ApiTokenView):
    errors = {**ApiTokenView.errors, AccessToken.DoesNotExist: AccessTokenNotFound}

    @openapi.revoke_access_token
    def delete(self, request: Request, public_id: str) -> Response:
        tokens = AccessToken.objects.using(router.db_for_write(AccessToken)).filter(user_group__in=self.user_groups)
        tokens.get_by_public_id(public_id).revoke()
        return self.respond(Envelope, {})
