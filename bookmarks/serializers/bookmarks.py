"""The serializers of the operations on bookmarks."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from bookmarks import web_url
from bookmarks.exceptions import NO_SUCH_COLLECTION
from bookmarks.models import MAX_TITLE_LENGTH, Bookmark, Collection
from bookmarks.search import MAX_QUERY_LENGTH
from usergroups.contract.batch import BatchField, ResultSerializer, ResultsField
from usergroups.contract.cursors import CursorField
from usergroups.contract.fields import Envelope, PastTimestampField, TextField, TimestampField
from usergroups.contract.pagination import PageEnvelope, PageQuery
from usergroups.serializers import UserGroupSerializer


@extend_schema_field({"type": "string"})
class CollectionField(serializers.Field[Collection, Any, str, Any]):
    """The id of a collection. The serializer's context has ``find_collection``, which returns it or None."""

    default_error_messages = {"does_not_exist": NO_SUCH_COLLECTION}

    def to_internal_value(self, data: Any) -> Collection:
        collection: Collection | None = self.context["find_collection"](data) if isinstance(data, str) else None
        if collection is None:
            self.fail("does_not_exist")
        return collection


@extend_schema_field({"type": "string"})
class CollectionFilterField(CollectionField):
    """A CollectionField for query strings, in which empty text stands for null."""

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(data) if data else None


class URLField(TextField):
    """An absolute http or https URL."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=web_url.MAX_LENGTH, validators=[web_url.validate], **kwargs)


class BookmarkUpdateSerializer(serializers.Serializer[Any]):
    """Changes of a bookmark. Omitted fields stay unchanged."""

    collection = CollectionField(
        required=False, allow_null=True, help_text="The id of one of the user group's collections, or null."
    )
    url = URLField(required=False, help_text="An absolute http or https URL.")
    title = TextField(required=False, allow_blank=True, max_length=MAX_TITLE_LENGTH, help_text="The title of the page.")


class BookmarkCreateSerializer(BookmarkUpdateSerializer):
    """A new bookmark."""

    url = URLField(help_text="An absolute http or https URL.")
    created_at = PastTimestampField(
        required=False,
        help_text="When the bookmark was created, for imports from another service. Not in the future. Default: now.",
    )


class CollectionIdField(serializers.CharField):
    """The id of a collection."""

    def to_representation(self, value: Any) -> str:
        return str(value)


class BookmarkSerializer(serializers.Serializer[Bookmark]):
    """A bookmark."""

    id = serializers.CharField()
    url = serializers.CharField(help_text="The URL exactly as it was sent.")
    title = serializers.CharField(help_text="The title of the page. It may be empty.")
    collection = CollectionIdField(
        source="collection_id", allow_null=True, help_text="The id of the bookmark's collection, or null."
    )
    created_at = TimestampField()
    updated_at = TimestampField(help_text="When the bookmark was last changed.")


class BookmarkEnvelope(Envelope):
    bookmark = BookmarkSerializer()


class NewBookmarkEnvelope(Envelope):
    user_group = UserGroupSerializer()
    bookmark = BookmarkSerializer()


class BookmarkListQuery(PageQuery):
    cursor = CursorField(UUID)
    collection = CollectionFilterField(
        required=False, help_text="Only bookmarks in the collection with this id or, if empty, in no collection."
    )
    url = URLField(required=False, help_text="Only bookmarks with this URL, in any equivalent spelling.")
    created_since = TimestampField(required=False, help_text="Only bookmarks created at this time or later.")
    updated_since = TimestampField(
        required=False,
        help_text=(
            "Only bookmarks created or changed at this time or later. To poll, subtract a minute from the latest "
            "`updated_at` that you have seen. A page may have fewer bookmarks than `limit`, "
            "even none, although more follow: request `next` until it is null."
        ),
    )
    q = TextField(
        required=False,
        max_length=MAX_QUERY_LENGTH,
        help_text=(
            "Only bookmarks with this text in the URL or title, ignoring letter case. A page may have fewer bookmarks "
            "than `limit`, even none, although more follow: request `next` until it is null."
        ),
    )


class BookmarkListEnvelope(PageEnvelope):
    bookmarks = BookmarkSerializer(many=True)


class BookmarkBatchSerializer(serializers.Serializer[Any]):
    bookmarks = BatchField(child=BookmarkCreateSerializer())


class BookmarkResultSerializer(ResultSerializer):
    bookmark = BookmarkSerializer(required=False)


class BookmarkBatchEnvelope(Envelope):
    user_group = UserGroupSerializer()
    results = ResultsField(BookmarkResultSerializer)


class BookmarkIdsSerializer(serializers.Serializer[Any]):
    """The ids of bookmarks."""

    ids = BatchField(child=TextField(), help_text="The ids of up to 1,000 bookmarks.")


class BookmarkMoveSerializer(BookmarkIdsSerializer):
    """The ids of bookmarks, and the collection to move them to."""

    collection = CollectionField(
        allow_null=True, help_text="The id of one of the user group's collections, or null for none."
    )


class BookmarkDeletionEnvelope(Envelope):
    results = ResultsField(ResultSerializer)


class BookmarkMoveEnvelope(Envelope):
    results = ResultsField(BookmarkResultSerializer)
