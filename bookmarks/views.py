"""The bookmark operations."""

from typing import cast

from django.db import IntegrityError
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response

from usergroups.contract.views import ContractView
from usergroups.tokens.authentication import TokenPermission

from . import openapi
from .authentication import AccessTokenAuthentication
from .exceptions import CollectionNotFound
from .models import AccessToken, Bookmark
from .serializers import BookmarkCreateSerializer, BookmarkEnvelope


class BookmarksView(ContractView):
    authentication_classes = [AccessTokenAuthentication]
    permission_classes = [TokenPermission]

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        user_group = cast(AccessToken, request.auth).user_group
        serializer = BookmarkCreateSerializer(data=request.data, context={"user_group": user_group})
        serializer.is_valid(raise_exception=True)
        try:
            bookmark, created = Bookmark.objects.add(user_group=user_group, **serializer.validated_data)
        except IntegrityError:
            # Between the look at the collection, or at the token, and the insert, it was deleted.
            gone = serializer.validated_data["collection"] is None
            raise (AuthenticationFailed() if gone else CollectionNotFound()) from None
        envelope = BookmarkEnvelope({"user_group": user_group, "bookmark": bookmark})
        return Response(envelope.data, status=201 if created else 200)
