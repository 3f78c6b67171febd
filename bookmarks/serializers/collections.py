"""The serializers of the operations on collections."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, Collection
from usergroups.contract.cursors import CursorField
from usergroups.contract.fields import Envelope, TextField, TimestampField
from usergroups.contract.pagination import PageEnvelope, PageQuery


class CollectionWriteSerializer(serializers.Serializer[Any]):
    """A new collection, or changes of a collection."""

    name = TextField(max_length=MAX_COLLECTION_NAME_LENGTH, help_text="Unique within the user group.")


class CollectionSerializer(serializers.Serializer[Collection]):
    """A collection."""

    id = serializers.CharField()
    name = serializers.CharField()
    created_at = TimestampField()
    updated_at = TimestampField(help_text="When the collection was last changed.")


class CollectionEnvelope(Envelope):
    collection = CollectionSerializer()


class CollectionListQuery(PageQuery):
    cursor = CursorField(UUID)
    name = TextField(
        required=False, max_length=MAX_COLLECTION_NAME_LENGTH, help_text="Only the collection with this name."
    )


class CollectionListEnvelope(PageEnvelope):
    collections = CollectionSerializer(many=True)
