"""The host's own API.

Many of its classes and fields have the same names as those of the apps.
"""

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import serializers
from rest_framework.authentication import TokenAuthentication
from rest_framework.generics import ListCreateAPIView

from usergroups.models import UserGroup


class ApiToken(TokenAuthentication):
    pass


class ApiTokenScheme(OpenApiAuthenticationExtension):
    target_class = ApiToken
    name = "ApiToken"

    def get_security_definition(self, auto_schema):
        return {"type": "http", "scheme": "basic"}


class BookmarkSerializer(serializers.Serializer):
    is_of_the_host = serializers.BooleanField()
    type = serializers.ChoiceField(["client_error", "none"])


class UserGroupSerializer(serializers.Serializer):
    is_of_the_host = serializers.BooleanField()
    bookmarks = BookmarkSerializer(many=True)
    api_environment_tag = serializers.ChoiceField(["Customer", "Staging"])


class ProblemSerializer(serializers.Serializer):
    is_of_the_host = serializers.BooleanField()
    code = serializers.ChoiceField(["required", "other"])
    success = serializers.ChoiceField([0, 1])


class UserGroupsView(ListCreateAPIView):
    queryset = UserGroup.objects.all()
    authentication_classes = [ApiToken]
    versioning_class = None
    serializer_class = UserGroupSerializer


class ProblemsView(UserGroupsView):
    serializer_class = ProblemSerializer
