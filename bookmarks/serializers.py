"""What the bookmark operations take and give."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from usergroups.contract.fields import Envelope, TextField, TimestampField
from usergroups.serializers import UserGroupSerializer

from . import web_url
from .exceptions import COLLECTION_NOT_FOUND
from .models import Bookmark, Collection


@extend_schema_field({"type": "string"})
class CollectionField(serializers.Field[Collection, Any, str, Any]):
    """The id of a collection of the group in the serializer's context."""

    default_error_messages = {"does_not_exist": COLLECTION_NOT_FOUND}

    def to_internal_value(self, data: Any) -> Collection:
        try:
            return Collection.objects.filter(user_group=self.context["user_group"]).get_by_public_id(data)
        except Collection.DoesNotExist:
            self.fail("does_not_exist")


class BookmarkCreateSerializer(serializers.Serializer[Any]):
    url = TextField(max_length=web_url.MAX_LENGTH, validators=[web_url.validate], help_text="Absolute, http or https.")
    collection = CollectionField(
        required=False, allow_null=True, default=None, help_text="Id of one of the user group's collections."
    )


class BookmarkSerializer(serializers.Serializer[Bookmark]):
    """A bookmark."""

    id = serializers.CharField()
    url = serializers.CharField(help_text="Exactly as it was sent.")
    collection = serializers.CharField(
        source="collection_id", allow_null=True, help_text="Id of the bookmark's collection, or null for none."
    )
    created_at = TimestampField()


class BookmarkEnvelope(Envelope):
    user_group = UserGroupSerializer()
    bookmark = BookmarkSerializer()
