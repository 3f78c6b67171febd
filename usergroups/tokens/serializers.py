"""The serializers of the operations on the token of the request."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from usergroups.api.envelopes import Envelope
from usergroups.api.fields import StrictIntegerField, TimestampField

from .models import MAX_GRACE, Token


class TokenRotationSerializer(serializers.Serializer[Any]):
    """The rotation of a token."""

    grace = StrictIntegerField(
        required=False,
        min_value=0,
        max_value=int(MAX_GRACE.total_seconds()),
        help_text=(
            "The number of seconds for which the old token still works, unless it "
            "expires earlier. Default: 0."
        ),
    )


@extend_schema_field({"type": "string"})
class TokenIdField(serializers.Field[bytes, Any, str, Any]):
    """The id of a token, or null, from its digest."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def to_representation(self, value: bytes) -> str:
        return bytes(value).hex()


class TokenSerializer(serializers.Serializer[Token]):
    """A token as it describes itself."""

    id = serializers.CharField(
        source="public_id",
        help_text="The SHA-256 digest of the secret, in hexadecimal.",
    )
    name = serializers.CharField()
    hint = serializers.CharField(help_text="The beginning of the secret.")
    # DRF removes fields from the class
    read_only = serializers.BooleanField(  # type: ignore[assignment]
        help_text="Whether the token can only read."
    )
    expires_at = TimestampField(allow_null=True)
    created_at = TimestampField()
    rotated_at = TimestampField(
        allow_null=True, help_text="When the token got a successor, or null."
    )
    predecessor = TokenIdField(
        source="predecessor_digest",
        help_text="The id of the token that this one replaced, or null.",
    )
    successor = TokenIdField(
        source="successor_digest",
        help_text="The id of the newest token that replaced this one, or null.",
    )


class SuccessorSerializer(TokenSerializer):
    """The successor of a token, with its secret."""

    secret = serializers.CharField(
        help_text="Send it in place of the old secret. It is never shown again."
    )


class TokenEnvelope(Envelope):
    token = TokenSerializer()


class SuccessorEnvelope(Envelope):
    token = SuccessorSerializer()
