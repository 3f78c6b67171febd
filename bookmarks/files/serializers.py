"""The serializers of the operations on files."""

from typing import Any

from rest_framework import serializers

from bookmarks.serializers import CollectionField
from usergroups.contract.fields import Envelope

from . import EXPORT_FORMATS, FORMATS


class ImportQuery(serializers.Serializer[Any]):
    """The query parameters of an import."""

    format = serializers.ChoiceField(
        choices=[*FORMATS], required=False, help_text="The format of the file. Default: that of the Content-Type."
    )
    collection = CollectionField(
        required=False,
        help_text="The id of the collection for all bookmarks. Default: the collections that the file names.",
    )
    update = serializers.BooleanField(  # type: ignore[assignment]  # Serializer.update is for saving
        default=False, help_text="Whether existing bookmarks get the titles and the dates that the file has for them."
    )


class RefusalSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(help_text="An explanation for people; its wording may change.")
    count = serializers.IntegerField(help_text="The number of records that were refused for this reason.")
    lines = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="The numbers of the lines on which the first 10 of them begin, or of the bookmarks in a JSON file.",
    )


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
    refusals = RefusalSerializer(
        many=True, help_text="The refused records by reason. After 100 reasons, all others are counted together."
    )
    unusable_dates = serializers.IntegerField(
        help_text="The number of bookmarks whose date stands for no time in the past. They have the date of the import."
    )
    shortened = serializers.IntegerField(
        help_text="The number of titles and of names of collections, counted for each bookmark, that were shortened."
    )
    left_out = LeftOutSerializer(
        many=True, source="left_out_counts", help_text="What the file has and bookmarks have no place for."
    )
    error = serializers.CharField(
        allow_null=True,
        help_text="Why the import ended before the end of the file, or null. What came before was imported.",
    )


class ImportEnvelope(Envelope):
    report = ReportSerializer()


class ExportQuery(serializers.Serializer[Any]):
    """The query parameters of an export."""

    format = serializers.ChoiceField(choices=[*EXPORT_FORMATS], default="jsonl", help_text="The format of the file.")
    collection = CollectionField(required=False, help_text="Only the bookmarks in the collection with this id.")
