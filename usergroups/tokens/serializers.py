"""The serializers of the operations on the token of the request."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from usergroups.api.fields import StrictIntegerField, TimestampField
from usergroups.api.serializers import AnySerializer, Envelope, Examples

from .models import MAX_GRACE, Token

# in examples
DIGEST = "9b1d8c0f5f0a4e6d8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f"


class TokenRotationSerializer(AnySerializer):
    """The rotation of a token."""

    examples = {"grace": 3600}

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
class TokenIdField(serializers.Field[bytes, object, str, object]):
    """The id of a token, or null, from its digest."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_null=True, **kwargs)

    def to_representation(self, value: bytes | None) -> str:
        return bytes(value or b"").hex()


class TokenSerializer(serializers.Serializer[Token]):
    """A token as it describes itself."""

    examples: Examples = {
        "id": DIGEST,
        "name": "Browser extension",
        "hint": "bma_4Hk6",
        "rotated_at": None,
        "predecessor": None,
        "successor": None,
    }

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

    examples = {"secret": "bma_4Hk6yLq0ZxWv9TnS2cBd8RfGj5MpUe3oKa1QhXw7"}

    secret = serializers.CharField(
        help_text="Send it in place of the old secret. It is never shown again."
    )


class TokenEnvelope(Envelope):
    token = TokenSerializer()


class SuccessorEnvelope(Envelope):
    token = SuccessorSerializer()
