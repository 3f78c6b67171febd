"""Operations on the access tokens of a user group, which authenticate with an API token."""

from datetime import timedelta

from django.db import IntegrityError
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
    request_serializers = {"GET": AccessTokenListQuery, "POST": AccessTokenCreateSerializer}
    response_serializers = {"GET": AccessTokenListEnvelope, "POST": IssuedAccessTokenEnvelope}

    @openapi.list_access_tokens
    def get(self, request: Request) -> Response:
        query = self.validated()
        user_group = self.user_groups.only("provided_id").get(provided_id=query.pop("provided_id"))
        page = Page(user_group.access_tokens.all(), "digest", **query)
        return self.respond({"access_tokens": page.items, **page.links(request)})

    @openapi.issue_access_token
    def post(self, request: Request) -> Response:
        fields = self.validated()
        user_group = self.user_groups.for_write().only("provided_id").get(provided_id=fields.pop("provided_id"))
        if "expires_in" in fields:
            fields["expires_at"] = timezone.now() + timedelta(seconds=fields.pop("expires_in"))
        try:
            token, secret = AccessToken.objects.issue(user_group=user_group, **fields)
        except IntegrityError:  # the user group has just been deleted
            raise UserGroupNotFound from None
        token.secret = secret  # type: ignore[attr-defined]  # for this response only
        return self.respond({"access_token": token}, status=201, location=self.location_of(user_group))


class AccessTokenDetailView(ApiTokenView):
    response_serializers = {"DELETE": Envelope}
    errors = {**ApiTokenView.errors, AccessToken.DoesNotExist: AccessTokenNotFound}

    @openapi.revoke_access_token
    def delete(self, request: Request, id: str) -> Response:
        tokens = AccessToken.objects.for_write().filter(user_group__in=self.user_groups)
        tokens.get_by_public_id(id).revoke()
        return self.respond({})
