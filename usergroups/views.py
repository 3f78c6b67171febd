"""The user group operations."""

from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response

from . import openapi
from .authentication import ApiTokenAuthentication
from .contract.views import ContractView
from .exceptions import UserGroupNotFound
from .models import ApiToken, UserGroup
from .serializers import UserGroupEnvelope, UserGroupUpdateSerializer
from .tokens.authentication import TokenPermission


class UserGroupView(ContractView):
    authentication_classes = [ApiTokenAuthentication]
    permission_classes = [TokenPermission]

    @openapi.update_user_group
    def put(self, request: Request) -> Response:
        token = cast(ApiToken, request.auth)
        serializer = UserGroupUpdateSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        try:
            user_group = UserGroup.objects.visible_to(token).change(**serializer.validated_data)
        except UserGroup.DoesNotExist:
            raise UserGroupNotFound from None
        return Response(UserGroupEnvelope({"user_group": user_group}).data)
