"""What the bookmark operations take and give."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from usergroups.contract.batch import BatchField, results_field
from usergroups.contract.fields import Envelope, TextField, TimestampField
from usergroups.contract.pagination import CursorField, PageEnvelope, PageQuery
from usergroups.serializers import UserGroupSerializer

from . import web_url
from .exceptions import NO_SUCH_COLLECTION
from .models import Bookmark, Collection
from .search import MAX_QUERY_LENGTH


@extend_schema_field({"type": "string"})
class CollectionField(serializers.Field[Collection, Any, str, Any]):
    """The id of one of the ``collections`` in the serializer's context, a dict by id."""

    default_error_messages = {"does_not_exist": NO_SUCH_COLLECTION}

    def to_internal_value(self, data: Any) -> Collection:
        if not isinstance(data, str) or data not in self.context["collections"]:
            self.fail("does_not_exist")
        collection: Collection = self.context["collections"][data]
        return collection


@extend_schema_field({"type": "string"})
class CollectionFilterField(CollectionField):
    """The same in a query, where there is no null but an empty text."""

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(data) if data else None


class URLField(TextField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=web_url.MAX_LENGTH, validators=[web_url.validate], **kwargs)


class BookmarkUpdateSerializer(serializers.Serializer[Any]):
    """Fields that are left out stay as they are."""

    collection = CollectionField(
        required=False, allow_null=True, help_text="Id of one of the user group's collections, or null for none."
    )
    title = TextField(required=False, allow_blank=True, max_length=1000, help_text="Title of the page.")


class BookmarkCreateSerializer(BookmarkUpdateSerializer):
    """A bookmark's fields."""

    url = URLField(help_text="Absolute, http or https.")


class BookmarkSerializer(serializers.Serializer[Bookmark]):
    """A bookmark."""

    id = serializers.CharField()
    url = serializers.CharField(help_text="Exactly as it was sent.")
    title = serializers.CharField(help_text="Empty if none was sent.")
    collection = serializers.CharField(
        source="visible_collection.pk",
        default=None,
        allow_null=True,
        help_text="Id of the bookmark's collection, or null for none.",
    )
    created_at = TimestampField()


class BookmarkEnvelope(Envelope):
    bookmark = BookmarkSerializer()


class NewBookmarkEnvelope(Envelope):
    user_group = UserGroupSerializer()
    bookmark = BookmarkSerializer()


class BookmarkListQuery(PageQuery):
    cursor = CursorField(UUID)
    collection = CollectionFilterField(
        required=False, help_text="Only those in the collection with this id; empty: those in none."
    )
    url = URLField(required=False, help_text="Only those of the same URL.")
    created_since = TimestampField(required=False, help_text="Only those created at this time or later.")
    q = TextField(
        required=False,
        max_length=MAX_QUERY_LENGTH,
        help_text=(
            "Only those with this text in URL or title, in upper or lower case. A page may then have fewer bookmarks "
            "than `limit`, or none, although there are more: follow `next` until it is null."
        ),
    )


class BookmarkListEnvelope(PageEnvelope):
    bookmarks = BookmarkSerializer(many=True)


class BookmarkBatchSerializer(serializers.Serializer[Any]):
    bookmarks = BatchField(child=BookmarkCreateSerializer())


class BookmarkResultSerializer(BookmarkEnvelope):
    status = serializers.IntegerField(help_text="201 if the item created its bookmark, else 200.")


class BookmarkBatchEnvelope(Envelope):
    user_group = UserGroupSerializer()
    results = results_field("BookmarkBatchResult", BookmarkResultSerializer)


class CollectionWriteSerializer(serializers.Serializer[Any]):
    """A collection's fields."""

    name = TextField(max_length=255, help_text="Unique among the user group's collections.")


class CollectionSerializer(serializers.Serializer[Collection]):
    """A collection."""

    id = serializers.CharField()
    name = serializers.CharField()
    created_at = TimestampField()


class CollectionEnvelope(Envelope):
    collection = CollectionSerializer()


class CollectionListQuery(PageQuery):
    cursor = CursorField(UUID)


class CollectionListEnvelope(PageEnvelope):
    collections = CollectionSerializer(many=True)
