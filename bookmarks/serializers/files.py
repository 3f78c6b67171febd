"""The serializers of the operations on files."""

from typing import Any

from rest_framework import serializers

from bookmarks.files import EXPORT_FORMATS, FORMATS
from bookmarks.files.encodings import lookup
from usergroups.contract.fields import Envelope

from .bookmarks import CollectionField

MAX_START = 2**53 - 1  # the largest integer that every JSON parser keeps


class EncodingField(serializers.CharField):
    """A label of the WHATWG Encoding Standard."""

    default_error_messages = {"invalid": "Not the name of an encoding of text."}

    def to_internal_value(self, data: Any) -> str:
        try:
            return lookup(super().to_internal_value(data))
        except ValueError:
            self.fail("invalid")


class ImportQuery(serializers.Serializer[Any]):
    """The query parameters of an import."""

    format = serializers.ChoiceField(
        choices=[*FORMATS], required=False, help_text="The format of the file. Default: that of the Content-Type."
    )
    encoding = EncodingField(
        required=False,
        help_text=(
            "The file's encoding, by a name of the WHATWG Encoding Standard. Default: the `charset` of the "
            "Content-Type, or else what the file says."
        ),
    )
    collection = CollectionField(
        required=False,
        help_text="The id of the collection for all bookmarks. Default: the collections that the file names.",
    )
    update = serializers.BooleanField(  # type: ignore[assignment]  # Serializer.update is for saving
        default=False, help_text="Whether existing bookmarks get the titles and the dates that the file has for them."
    )
    start = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MAX_START,
        help_text="The number of the file's records to skip, because earlier calls have imported them. See `next`.",
    )


class RefusalSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(help_text="The number of the line on which the record begins.")
    reason = serializers.CharField(help_text="An explanation for people; its wording may change.")


class LeftOutSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The name in the file, or `…` for all further ones after 100 names.")
    count = serializers.IntegerField(
        help_text="The number of bookmarks that have it; for `…`, the sum of these numbers."
    )


class ReportSerializer(serializers.Serializer[Any]):
    """What an import did."""

    created = serializers.IntegerField(help_text="The number of new bookmarks.")
    updated = serializers.IntegerField(help_text="The number of existing bookmarks that were changed.")
    existing = serializers.IntegerField(help_text="The number of existing bookmarks that were not changed.")
    refused = serializers.IntegerField(help_text="The number of records that were not imported.")
    refusals = RefusalSerializer(many=True, help_text="The first 100 refused records.")
    unusable_dates = serializers.IntegerField(
        help_text="The number of bookmarks whose date stands for no time in the past. They have the date of the import."
    )
    shortened = serializers.IntegerField(
        help_text="The number of bookmarks and empty collections for which the collection's name was shortened."
    )
    left_out = LeftOutSerializer(
        many=True, source="left_out_counts", help_text="What the file has and bookmarks have no place for."
    )
    collection_deleted = serializers.BooleanField(
        help_text="Whether `collection` was deleted during the import. The last bookmarks are then in no collection."
    )
    error = serializers.CharField(
        allow_null=True,
        help_text="Why the file could not be read to its end, or null. Everything before that place was imported.",
    )


class ImportEnvelope(Envelope):
    report = ReportSerializer()
    next = serializers.URLField(
        allow_null=True,
        help_text="The URL to which to send the same file again, to import the rest, or null if there is none.",
    )


class ExportQuery(serializers.Serializer[Any]):
    """The query parameters of an export."""

    format = serializers.ChoiceField(choices=[*EXPORT_FORMATS], default="jsonl", help_text="The format of the file.")
    collection = CollectionField(required=False, help_text="Only the bookmarks in the collection with this id.")
