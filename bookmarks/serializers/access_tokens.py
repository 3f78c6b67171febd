"""The serializers of the operations on access tokens."""

from rest_framework import serializers

from bookmarks.models import AccessToken
from usergroups.contract.cursors import CursorField
from usergroups.contract.fields import Envelope, StrictBooleanField, StrictIntegerField, TextField, TimestampField
from usergroups.contract.pagination import PageEnvelope, PageQuery
from usergroups.serializers import UserGroupIdQuery, UserGroupIdSerializer
from usergroups.tokens.models import MAX_TOKEN_NAME_LENGTH

MAX_LIFETIME = 100 * 365 * 24 * 60 * 60  # seconds


class AccessTokenCreateSerializer(UserGroupIdSerializer):
    """A new access token."""

    name = TextField(
        required=False, allow_blank=True, max_length=MAX_TOKEN_NAME_LENGTH, help_text="What the token is for."
    )
    read_only = StrictBooleanField(  # type: ignore[assignment]  # not the attribute of a field
        default=False, help_text="Whether the token can only read."
    )
    expires_in = StrictIntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIFETIME,
        help_text="The number of seconds until the token expires. Without it, the token never expires.",
    )


class AccessTokenSerializer(serializers.Serializer[AccessToken]):
    """An access token, without its secret."""

    id = serializers.CharField(source="public_id", help_text="The SHA-256 digest of the secret, in hexadecimal.")
    name = serializers.CharField()
    hint = serializers.CharField(help_text="The beginning of the secret.")
    read_only = serializers.BooleanField()  # type: ignore[assignment]
    created_at = TimestampField()
    expires_at = TimestampField(allow_null=True)
    revoked_at = TimestampField(allow_null=True)
    last_used_at = TimestampField(allow_null=True, help_text="Accurate to one minute.")


class IssuedAccessTokenSerializer(AccessTokenSerializer):
    """An access token with its secret."""

    secret = serializers.CharField(help_text="Send it as `Authorization: Bearer <secret>`. It is never shown again.")


class IssuedAccessTokenEnvelope(Envelope):
    access_token = IssuedAccessTokenSerializer()


class AccessTokenListQuery(UserGroupIdQuery, PageQuery):
    cursor = CursorField(bytes.fromhex)


class AccessTokenListEnvelope(PageEnvelope):
    access_tokens = AccessTokenSerializer(many=True)
