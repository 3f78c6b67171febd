"""The serializers of the bookmark operations, and of those on files and access
tokens.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import get_error_detail

from usergroups.api.batches import (
    BatchField,
    ResultSerializer,
    StoredResultSerializer,
    WriteResultSerializer,
    results_of,
)
from usergroups.api.fields import (
    ETAG_EXAMPLE,
    ETagOfRow,
    IfMatchField,
    OfRow,
    QueryBooleanField,
    StrictBooleanField,
    StrictIntegerField,
    TextField,
    TextOfRow,
    TimestampField,
)
from usergroups.api.pagination import Order, PageEnvelope, PageQuery
from usergroups.api.serializers import (
    AnySerializer,
    Envelope,
    Examples,
    FailureSerializer,
    Validated,
)
from usergroups.serializers import (
    UserGroupIdQuery,
    UserGroupIdSerializer,
    UserGroupIdsSerializer,
    UserGroupSerializer,
)
from usergroups.tokens.models import MAX_TOKEN_NAME_LENGTH, Revocation
from usergroups.tokens.serializers import (
    DIGEST,
    SuccessorSerializer,
    TokenEnvelope,
    TokenSerializer,
)

from . import web_url
from .bookmark_errors import IN_FUTURE, NO_SUCH_COLLECTION
from .deleted_bookmarks import Deletion
from .files import EXPORT_FORMATS, FORMATS
from .models import (
    MAX_COLLECTION_NAME_LENGTH,
    MAX_NOTE_LENGTH,
    MAX_TITLE_LENGTH,
    Bookmark,
    Collection,
)
from .querysets.tags import Tag
from .search import MAX_QUERY_LENGTH, has_tag, has_tag_with_prefix, has_text
from .tags import MAX_TAG_LENGTH, MAX_TAGS, clean_tag, distinct

BOOKMARK_KEY = "01930e7a-5b5c-7c42-9f8e-3a1d5b0c7e21"
COLLECTION_KEY = "01930e79-a1c0-7d3f-8b7a-2f4c6e8d0a13"
"""Examples of ids."""


@extend_schema_field({"type": "string", "example": COLLECTION_KEY})
class CollectionIdField(serializers.Field[str | None, object, str, object]):
    """The id of a collection, which the view looks up.

    Only a string can be the id of a collection.
    """

    default_error_messages = {"does_not_exist": NO_SUCH_COLLECTION}

    def to_internal_value(self, data: object) -> str | None:
        if not isinstance(data, str):
            self.fail("does_not_exist")
        return data


# An example that lists the bookmarks in no collection.
@extend_schema_field({"type": "string", "example": ""})
class CollectionFilterField(CollectionIdField):
    """A CollectionIdField for query strings, in which an empty value stands
    for no collection.
    """

    def to_internal_value(self, data: object) -> str | None:
        return super().to_internal_value(data) or None


class URLField(TextField):
    """An absolute http or https URL."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=web_url.MAX_LENGTH, **kwargs)

    def to_internal_value(self, data: object) -> web_url.WebURL:
        text = super().to_internal_value(data)
        try:
            return web_url.clean(text)
        except ValidationError as error:
            # DRF's lists, unlike its serializers, do not convert Django's error.
            raise serializers.ValidationError(get_error_detail(error)) from None


class TagsField(serializers.ListField):
    """Tags, each of which is validated by ``clean_tag``."""

    # for the OpenAPI document
    child = TextField(max_length=MAX_TAG_LENGTH)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_TAGS, **kwargs)

    def run_child_validation(self, data: Sequence[object]) -> list[str]:
        """Validate each tag, and report errors by its index."""
        # DRF would check this after validating all tags.
        if len(data) > MAX_TAGS:
            self.fail("max_length", max_length=MAX_TAGS)
        tags = []
        problems: dict[Any, Any] = {}
        for index, tag in enumerate(data):
            try:
                tags.append(clean_tag(tag))
            except ValidationError as error:
                problems[index] = get_error_detail(error)
        if problems:
            raise serializers.ValidationError(problems)
        return distinct(tags)


class TagField(TextField):
    """A tag, which is validated by ``clean_tag``."""

    def to_internal_value(self, data: object) -> str:
        return clean_tag(data)


class PastTimestampField(TimestampField):
    """A time with an offset, as in RFC 3339, that is not in the future."""

    default_error_messages = {"in_future": IN_FUTURE}

    def to_internal_value(self, value: object) -> datetime:
        time = super().to_internal_value(value)
        if time > timezone.now():
            self.fail("in_future")
        return time


class ListOfRow(OfRow, serializers.ListField):
    """A list of a bookmark."""


class TimeOfRow(OfRow, TimestampField):
    """A time of a bookmark."""


class BookmarkSerializer(serializers.Serializer[Bookmark]):
    """A bookmark."""

    examples = {
        "id": BOOKMARK_KEY,
        "url": "https://example.com/reports?year=2026",
        "title": "Reports of 2026",
        "tags": ["reports", "to read"],
        "note": "The figures of the third quarter are on page 12.",
        "collection": COLLECTION_KEY,
    }

    id = TextOfRow()
    url = TextOfRow(help_text="The URL exactly as it was sent.")
    title = TextOfRow(help_text="The title of the page. It may be empty.")
    tags = ListOfRow(
        child=serializers.CharField(), help_text="The tags in the order of the request."
    )
    note = TextOfRow(help_text="The note. It may be empty.")
    collection = TextOfRow(
        source="collection_id",
        allow_null=True,
        help_text="The id of the bookmark's collection, or null.",
    )
    created_at = TimeOfRow()
    updated_at = TimeOfRow(help_text="When the bookmark was last changed.")


class ListedBookmarkSerializer(BookmarkSerializer):
    """A bookmark in a list."""

    examples = {"etag": ETAG_EXAMPLE}

    etag = ETagOfRow()


class BookmarkUpdateSerializer(AnySerializer):
    """Changes of a bookmark. Omitted fields stay unchanged."""

    answer = ListedBookmarkSerializer

    collection = CollectionIdField(
        required=False,
        allow_null=True,
        help_text="The id of one of the user group's collections, or null.",
    )
    url = URLField(required=False, help_text="An absolute http or https URL.")
    title = TextField(
        required=False,
        allow_blank=True,
        max_length=MAX_TITLE_LENGTH,
        help_text="The title of the page.",
    )
    tags = TagsField(
        required=False,
        help_text=(
            "Replaces all tags. A tag has no control characters. Surrounding white "
            "space is removed, and so is a tag that differs from an earlier one only "
            "in letter case."
        ),
    )
    note = TextField(
        required=False,
        allow_blank=True,
        max_length=MAX_NOTE_LENGTH,
        help_text="Remarks about the page.",
    )


class BookmarkCreateSerializer(BookmarkUpdateSerializer):
    """A new bookmark."""

    url = URLField(help_text="An absolute http or https URL.")
    created_at = PastTimestampField(
        required=False,
        help_text=(
            "When the bookmark was created, for imports from another service. Not in "
            "the future. Default: now."
        ),
    )


class BookmarkEnvelope(Envelope):
    bookmark = BookmarkSerializer()


class NewBookmarkEnvelope(Envelope):
    user_group = UserGroupSerializer()
    bookmark = BookmarkSerializer()


class BookmarkListQuery(PageQuery):
    """The query parameters of the list of bookmarks."""

    examples = {
        "url": BookmarkSerializer.examples["url"],
        "q": "reports",
        "tag": ["reports"],
    }

    collection = CollectionFilterField(
        required=False,
        help_text=(
            "Only bookmarks in the collection with this id or, if empty, in no "
            "collection."
        ),
    )
    url = URLField(
        required=False,
        help_text="Only bookmarks with this URL, in any equivalent spelling.",
    )
    created_since = TimestampField(
        required=False, help_text="Only bookmarks created at this time or later."
    )
    updated_since = TimestampField(
        required=False,
        help_text=(
            "Only bookmarks created or changed at this time or later, ordered by "
            "`updated_at`. To poll, subtract a minute from the latest `updated_at` "
            "that you have seen. With another filter than `url`, a page may have fewer "
            "bookmarks than `limit`, even none, although more follow: request `next` "
            "until it is null."
        ),
    )
    q = TextField(
        required=False,
        max_length=MAX_QUERY_LENGTH,
        help_text=(
            "Only bookmarks with this text in the URL, title, tags or note, ignoring "
            "letter case. A page may have fewer bookmarks than `limit`, even none, "
            "although more follow: request `next` until it is null."
        ),
    )
    tag = TagsField(
        required=False,
        help_text=(
            "Only bookmarks with this tag, ignoring letter case, or with all of them "
            "if the parameter is repeated. A page may have fewer bookmarks than "
            "`limit`, even none, although more follow: request `next` until it is null."
        ),
    )

    def condition(self, name: str, value: Any) -> Q:
        if name == "url":
            return Q(url_digest=value.digest)
        if name == "q":
            return has_text(value)
        if name == "tag":
            return Q(*map(has_tag, value))
        return super().condition(name, value)

    def validate_tag(self, tags: list[str]) -> list[str]:
        """Sort the tags, whose order does not matter."""
        return sorted(tags)


class BookmarkListEnvelope(PageEnvelope):
    bookmarks = ListedBookmarkSerializer(many=True)


class BookmarkItemSerializer(BookmarkCreateSerializer):
    """A bookmark in a batch."""

    examples = {
        "if_match": ETAG_EXAMPLE,
        "tags_add": ["reports"],
        "tags_remove": ["to read"],
    }

    tags_add = TagsField(
        required=False, help_text="Adds these tags, in place of `tags`."
    )
    tags_remove = TagsField(
        required=False,
        help_text="Removes these tags in any letter case, in place of `tags`.",
    )
    if_match = IfMatchField()

    def validate(self, fields: Validated) -> Validated:
        """Refuse tags beside changes of the tags."""
        if "tags" in fields and fields.keys() & {"tags_add", "tags_remove"}:
            text = "Send either `tags` or `tags_add` and `tags_remove`."
            raise serializers.ValidationError({"tags": [text]})
        return fields


class BookmarkBatchSerializer(AnySerializer):
    bookmarks = BatchField(child=BookmarkItemSerializer())
    # DRF removes fields from the class
    update = StrictBooleanField(  # type: ignore[assignment]
        required=False,
        help_text=(
            "Whether existing bookmarks get the titles, the tags and the notes that "
            "are sent for them. Default: false."
        ),
    )


class BookmarkResultSerializer(StoredResultSerializer):
    bookmark = BookmarkSerializer(required=False)


class BookmarkBatchEnvelope(Envelope):
    user_group = UserGroupSerializer()
    results = results_of(BookmarkResultSerializer)


class BookmarkIdsSerializer(AnySerializer):
    """The ids of bookmarks."""

    examples = {"ids": [BOOKMARK_KEY]}

    ids = BatchField(child=TextField(), help_text="The ids of up to 1,000 bookmarks.")


class BookmarkMoveSerializer(BookmarkIdsSerializer):
    """The ids of bookmarks, and the collection to move them to."""

    collection = CollectionIdField(
        allow_null=True,
        help_text="The id of one of the user group's collections, or null for none.",
    )


class BookmarkDeletionEnvelope(Envelope):
    results = results_of(WriteResultSerializer)


class BookmarkMoveEnvelope(Envelope):
    results = results_of(BookmarkResultSerializer)


class BookmarkLookupSerializer(AnySerializer):
    """URLs that may have bookmarks."""

    examples = {"urls": [BookmarkSerializer.examples["url"]]}

    urls = BatchField(child=URLField(), help_text="Up to 1,000 URLs.")


class LookupResultSerializer(ResultSerializer):
    examples = BookmarkIdsSerializer.examples

    ids = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text=(
            "The ids of the bookmarks with this URL, in any collection or in none."
        ),
    )


class BookmarkLookupEnvelope(Envelope):
    results = results_of(LookupResultSerializer)


class CollectionSerializer(serializers.Serializer[Collection]):
    """A collection."""

    examples = {"id": COLLECTION_KEY, "name": "Reading list"}

    id = serializers.CharField()
    name = serializers.CharField()
    created_at = TimestampField()
    updated_at = TimestampField(help_text="When the collection was last changed.")


class ListedCollectionSerializer(CollectionSerializer):
    """A collection in a list."""

    examples = {"etag": ETAG_EXAMPLE}

    etag = ETagOfRow()


class CollectionWriteSerializer(AnySerializer):
    """A new collection, or changes of a collection."""

    answer = ListedCollectionSerializer

    name = TextField(
        max_length=MAX_COLLECTION_NAME_LENGTH,
        help_text="Unique within the user group.",
    )


class CollectionEnvelope(Envelope):
    collection = CollectionSerializer()


class CollectionListQuery(PageQuery):
    examples = {"name": "Reading list"}

    name = TextField(
        required=False,
        max_length=MAX_COLLECTION_NAME_LENGTH,
        help_text="Only the collection with this name.",
    )
    updated_since = TimestampField(
        required=False,
        help_text=(
            "Only collections created or changed at this time or later, ordered by "
            "`updated_at`."
        ),
    )


class CollectionListEnvelope(PageEnvelope):
    collections = ListedCollectionSerializer(many=True)


class TagSerializer(serializers.Serializer[Tag]):
    """A tag of a user group."""

    examples = {"name": "reports", "count": 12}

    name = serializers.CharField(
        help_text=(
            "The tag. Of several spellings in other letter cases, the first in "
            "alphabetical order."
        )
    )
    count = serializers.IntegerField(
        help_text="The number of bookmarks with this tag, in any letter case."
    )


class TagListQuery(PageQuery):
    """The query parameters of the list of tags."""

    examples = {"prefix": "rep"}

    # Tags have an order of their own.
    order = None  # type: ignore[assignment]
    prefix = TextField(
        required=False,
        max_length=MAX_TAG_LENGTH,
        help_text="Only tags that begin with this text, ignoring letter case.",
    )

    def condition(self, name: str, value: Any) -> Q:
        """Return the condition that a bookmark has such a tag."""
        return has_tag_with_prefix(value)

    def validate(self, query: Validated) -> Validated:
        return {**query, "order": Order.OLDEST}


class TagListEnvelope(PageEnvelope):
    tags = TagSerializer(many=True)


class TagRenameSerializer(AnySerializer):
    """A tag, and its new name."""

    examples = {"tag": "reports", "to": "Reports"}

    tag = TagField(
        max_length=MAX_TAG_LENGTH, help_text="The tag to rename, in any letter case."
    )
    to = TagField(
        allow_null=True,
        max_length=MAX_TAG_LENGTH,
        help_text="The new name, or null to remove the tag.",
    )


class TagRenameEnvelope(Envelope):
    examples = {"changed": 12}

    changed = serializers.IntegerField(
        help_text="The number of bookmarks that were changed."
    )


class DeletionSerializer(serializers.Serializer[Deletion]):
    """The deletion of a bookmark or a collection."""

    examples = {"type": "bookmark", "id": BOOKMARK_KEY}

    type = serializers.CharField(
        source="object_type", help_text="`bookmark` or `collection`."
    )
    id = serializers.CharField(
        source="object_id", help_text="The id of the deleted object."
    )
    deleted_at = TimestampField()


class DeletionListEnvelope(PageEnvelope):
    deletions = DeletionSerializer(many=True)


class ImportQuery(AnySerializer):
    """The query parameters of an import."""

    examples = {"format": "html", "update": False}

    format = serializers.ChoiceField(
        choices=[*FORMATS],
        required=False,
        help_text="The format of the file. Default: that of the Content-Type.",
    )
    collection = CollectionIdField(
        required=False,
        help_text=(
            "The id of the collection for all bookmarks. Default: the collections that "
            "the file names."
        ),
    )
    # DRF removes fields from the class
    update = QueryBooleanField(  # type: ignore[assignment]
        default=False,
        help_text=(
            "Whether existing bookmarks get the titles, the dates and the further tags "
            "that the file has for them, and its notes if they have none."
        ),
    )


class RefusalSerializer(AnySerializer):
    examples = {
        "line": 88,
        "url": "example.com",
        "title": "Example",
        "reason": web_url.NO_SCHEME,
    }

    line = serializers.IntegerField(
        help_text=(
            "The number of the line on which the record begins, or of the bookmark in "
            "a JSON file."
        )
    )
    url = serializers.CharField(help_text="The beginning of its URL, if it has one.")
    title = serializers.CharField(help_text="The beginning of its title.")
    reason = serializers.CharField(
        help_text="An explanation for people; its wording may change."
    )


class ReportSerializer(AnySerializer):
    """What an import did."""

    examples = {"error": None, "stopped_at": None}

    created = serializers.IntegerField(help_text="The number of new bookmarks.")
    updated = serializers.IntegerField(
        help_text="The number of existing bookmarks that were changed."
    )
    existing = serializers.IntegerField(
        help_text="The number of existing or repeated bookmarks that did not change."
    )
    collections = serializers.IntegerField(help_text="The number of new collections.")
    refused = serializers.IntegerField(
        help_text="The number of records that were not imported."
    )
    refusals = RefusalSerializer(
        many=True,
        help_text=(
            "The first 200 records that were refused, but only 10 of them for the same "
            "reason."
        ),
    )
    unusable_dates = serializers.IntegerField(
        help_text=(
            "The number of bookmarks whose date is invalid or in the future. New ones "
            "get the date of the import."
        )
    )
    shortened = serializers.IntegerField(
        help_text=(
            "The number of shortened texts, and of tags that were cleaned or dropped. "
            "The name of a collection counts once for each of its bookmarks."
        )
    )
    error = serializers.CharField(
        allow_null=True,
        help_text=(
            "Why the import ended before the end of the file, or null. What came "
            "before was imported."
        ),
    )
    stopped_at = serializers.IntegerField(
        allow_null=True,
        help_text=(
            "The number of the line, or of the bookmark in a JSON file, at which the "
            "import ended because of its time limit, or null. Send the rest of the "
            "file, from there, as another import."
        ),
    )


class ImportEnvelope(Envelope):
    report = ReportSerializer()


class ImportFailureSerializer(FailureSerializer):
    """The body of an error response to an import."""

    report = ReportSerializer(
        required=False, help_text="Only if the code is `unreadable_file`."
    )


class ExportQuery(AnySerializer):
    """The query parameters of an export."""

    examples = {"format": "html"}

    format = serializers.ChoiceField(
        choices=[*EXPORT_FORMATS], default="jsonl", help_text="The format of the file."
    )
    collection = CollectionFilterField(
        required=False,
        help_text=(
            "Only the bookmarks in the collection with this id or, if empty, in no "
            "collection."
        ),
    )
    created_since = TimestampField(
        required=False,
        help_text=(
            "Only the bookmarks created at this time or later, the oldest first "
            "whatever their collections, and no empty collections."
        ),
    )


MAX_LIFETIME = 100 * 365 * 24 * 60 * 60  # 100 years in seconds


class NewAccessTokenSerializer(AnySerializer):
    """The fields of new access tokens."""

    examples: Examples = {"name": "Browser extension", "expires_in": 2_592_000}

    name = TextField(
        required=False,
        allow_blank=True,
        max_length=MAX_TOKEN_NAME_LENGTH,
        help_text="What the token is for.",
    )
    # DRF removes fields from the class
    read_only = StrictBooleanField(  # type: ignore[assignment]
        # With a default in the document, openapi-typescript requires the field.
        required=False,
        help_text="Whether the token can only read. Default: false.",
    )
    expires_in = StrictIntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIFETIME,
        help_text=(
            "The number of seconds until the token expires. Without it, the token "
            "never expires."
        ),
    )

    def validate(self, fields: Validated) -> Validated:
        """Replace ``expires_in`` by the dates of the token."""
        if "expires_in" in fields:
            now = timezone.now()
            lifetime = timedelta(seconds=fields.pop("expires_in"))
            fields |= {"created_at": now, "expires_at": now + lifetime}
        return fields


class AccessTokenCreateSerializer(UserGroupIdSerializer, NewAccessTokenSerializer):
    """A new access token."""


class AccessTokenBatchSerializer(UserGroupIdsSerializer, NewAccessTokenSerializer):
    """New access tokens, one for each of several user groups."""


SUCCESSORS = (
    "Whether to revoke all tokens as well that descend from the token by rotation, "
    "as for a leaked token. Default: false."
)


class AccessTokenRevocationQuery(AnySerializer):
    """The query parameters of a revocation."""

    examples = {"successors": True}

    successors = QueryBooleanField(default=False, help_text=SUCCESSORS)


class AccessTokenIdsSerializer(AnySerializer):
    """The ids of access tokens to revoke."""

    examples = {"ids": [DIGEST]}

    ids = BatchField(
        child=TextField(), help_text="The ids of up to 1,000 access tokens."
    )
    successors = StrictBooleanField(required=False, help_text=SUCCESSORS)


class AccessTokenSerializer(TokenSerializer):
    """An access token, without its secret."""

    examples: Examples = {"read_only": False, "revoked_at": None, "last_used_at": None}

    revoked_at = TimestampField(allow_null=True)
    last_used_at = TimestampField(allow_null=True, help_text="Accurate to one minute.")


class IssuedAccessTokenSerializer(AccessTokenSerializer):
    """An access token with its secret."""

    examples = SuccessorSerializer.examples

    secret = serializers.CharField(
        help_text=(
            "Send it as `Authorization: Bearer <secret>`. It is never shown again."
        )
    )


class IssuedAccessTokenEnvelope(Envelope):
    access_token = IssuedAccessTokenSerializer()


class AccessTokenListQuery(UserGroupIdQuery, PageQuery):
    def condition(self, name: str, value: Any) -> Q:
        if name == "provided_id":
            # The list is that of the user group.
            return Q()
        return super().condition(name, value)


class AccessTokenListEnvelope(PageEnvelope):
    access_tokens = AccessTokenSerializer(many=True)


class TeamAccessTokenSerializer(AccessTokenSerializer):
    """An access token with the id of its user group."""

    examples = UserGroupIdSerializer.examples

    user_group_id = serializers.CharField(
        source="user_group.provided_id",
        help_text="Your own identifier of the token's user group.",
    )


class TeamAccessTokenListQuery(PageQuery):
    expires_before = TimestampField(
        required=False,
        help_text=(
            "Only access tokens that expire, or have expired, before this time. A page "
            "may have fewer access tokens than `limit`, even none, although more "
            "follow: request `next` until it is null."
        ),
    )


class TeamAccessTokenListEnvelope(PageEnvelope):
    access_tokens = TeamAccessTokenSerializer(many=True)


class AccessTokenResultSerializer(WriteResultSerializer):
    access_token = IssuedAccessTokenSerializer(required=False)


class AccessTokenBatchEnvelope(Envelope):
    results = results_of(AccessTokenResultSerializer)


class RevocationSerializer(serializers.Serializer[Revocation]):
    """What was revoked."""

    examples: Examples = {"revoked": [DIGEST], "successor": None}

    revoked = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The ids of the tokens that were revoked.",
    )
    successor = serializers.CharField(
        required=False,
        allow_null=True,
        help_text=(
            "The id of the newest token that descends from the token by rotation and "
            "is still active, or null."
        ),
    )


class AccessTokenRevocationEnvelope(Envelope, RevocationSerializer):
    pass


class RevocationResultSerializer(WriteResultSerializer, RevocationSerializer):
    pass


class AccessTokenBatchRevocationEnvelope(Envelope):
    results = results_of(RevocationResultSerializer)


class DescribedAccessTokenEnvelope(TokenEnvelope):
    user_group = UserGroupSerializer()
