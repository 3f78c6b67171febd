"""The operations of an access token on itself."""

from drf_spectacular.utils import extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import openapi, serializers
from usergroups.tokens.views import RotateTokenView

from .access_token_view import AccessTokenView


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
