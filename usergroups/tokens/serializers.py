"""The serializers of the operations on the token of the request."""

from rest_framework import serializers

from usergroups.api.envelopes import AnySerializer, Envelope
from usergroups.api.fields import StrictIntegerField, TimestampField

from .models import MAX_GRACE, Token


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


class TokenSerializer(serializers.Serializer[Token]):
    """A token as it describes itself."""

    examples = {"name": "Browser extension", "hint": "bma_4Hk6", "rotated_at": None}

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
