"""Bookmarks, their collections, and the access tokens of user groups."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Required, Self, TypedDict

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from usergroups.models import MAX_ENVIRONMENT_LENGTH, Team, UserGroup
from usergroups.tokens.models import Token, indexes_for_lists

from . import web_url
from .bookmark_errors import BOOKMARK_EXISTS, IN_FUTURE
from .owned_rows import PublicIdModel, PublicIdQuerySet
from .querysets.bookmarks import BookmarkManager
from .querysets.collections import CollectionManager, CollectionQuerySet
from .querysets.unique_keys import COLLECTION_KEY, NO_COLLECTION, UniqueKey
from .tags import TagsField

MAX_COLLECTION_NAME_LENGTH = 255
MAX_TITLE_LENGTH = 1000
MAX_NOTE_LENGTH = 10_000


class AccessToken(Token):
    """Authenticates API calls on the bookmarks and collections of one user
    group.
    """

    prefix = "bma"  # of the secrets
    owner_field = "user_group"
    reads_owner = True
    # large fields, which authentication does not load
    owner_deferred = ("mapping", "properties")
    owner_copies = ("team_id", "environment")

    user_group = models.ForeignKey(
        UserGroup,
        models.CASCADE,
        related_name="access_tokens",
        db_index=False,  # The index below begins with the user group.
        verbose_name=_("user group"),
        help_text=_(
            "The token gives access to the bookmarks and collections of this user "
            "group only."
        ),
    )
    # The scope of the user group, which changes only with the tokens, for an
    # index on those of all groups of a team. Their deletion cascades from the group.
    team = models.ForeignKey(
        Team, models.DO_NOTHING, related_name="+", db_index=False, editable=False
    )
    environment = models.CharField(
        max_length=MAX_ENVIRONMENT_LENGTH, blank=True, editable=False
    )

    class Meta:
        verbose_name = _("access token")
        verbose_name_plural = _("access tokens")
        permissions = [("revoke_accesstoken", "Can revoke access token")]
        indexes = [
            models.Index(
                fields=["user_group", "created_at", "digest"],
                name="bookmarks_tokens_by_group",
            ),
            # For the number of active tokens, without reading the others.
            # Without statistics, PostgreSQL might authenticate with an index
            # that has only the active ones.
            models.Index(
                fields=["user_group", "revoked_at", "expires_at"],
                name="bookmarks_tokens_by_state",
            ),
            models.Index(
                fields=["team", "environment", "created_at", "digest"],
                name="bookmarks_tokens_by_team",
            ),
            *indexes_for_lists("bookmarks"),
        ]


class Collection(PublicIdModel):
    """A named set of a user group's bookmarks."""

    name = models.CharField(
        _("name"),
        max_length=MAX_COLLECTION_NAME_LENGTH,
        help_text=_("Unique within the user group."),
    )

    rows = CollectionQuerySet.as_manager()
    objects = CollectionManager.from_queryset(CollectionQuerySet)()

    class Meta:
        verbose_name = _("collection")
        verbose_name_plural = _("collections")
        constraints = [
            models.UniqueConstraint(
                fields=["user_group", "name"], name="bookmarks_collection_name"
            ),
        ]
        indexes = [
            models.Index(
                fields=["user_group", "created_at", "id"], name="bookmarks_collections"
            ),
            models.Index(
                fields=["user_group", "updated_at", "id"],
                name="bookmarks_collection_changes",
            ),
        ]

    def __str__(self) -> str:
        # The admin's history stores this text, so it contains no words that
        # would have to be translated.
        return f"{self.name}, {self.user_group}"

    def validate_constraints(self, exclude: Iterable[str] | None = None) -> None:
        # The form of an existing collection excludes the user group, and
        # Django would therefore skip the constraint.
        super().validate_constraints(set(exclude or ()) - {"user_group"})


class BookmarkFields(TypedDict, total=False):
    """The values of a new bookmark. All except the URL may be omitted."""

    url: Required[str]
    collection: Collection | None
    title: str
    tags: list[str]
    note: str
    created_at: datetime


class Bookmark(PublicIdModel):
    """A URL that a user group has saved.

    It is unique within a collection, and among the bookmarks without one.
    """

    # DO_NOTHING, because CollectionQuerySet.prepare_deletion() empties a
    # collection before it is deleted. On PostgreSQL, the constraint
    # bookmarks_collection_of_group of a migration also compares the user group.
    collection = models.ForeignKey(
        Collection,
        models.DO_NOTHING,
        related_name="bookmarks",
        null=True,
        blank=True,
        db_index=False,
        verbose_name=_("collection"),
        help_text=_("A collection of the user group, or empty."),
    )
    url = models.CharField(
        "URL",
        max_length=web_url.MAX_LENGTH,
        validators=[web_url.validate],
        help_text=_(
            "An absolute http or https URL. It is stored exactly as entered and never "
            "fetched."
        ),
    )
    # bytes of a SHA-256 digest
    url_digest = web_url.URLDigestField(max_length=32, editable=False)
    title = models.CharField(
        _("title"),
        max_length=MAX_TITLE_LENGTH,
        blank=True,
        help_text=_("The title of the page."),
    )
    tags = TagsField(
        _("tags"),
        default=list,
        blank=True,
        help_text=_("One tag on each line."),
    )
    note = models.TextField(
        _("note"),
        max_length=MAX_NOTE_LENGTH,
        # A TextField checks its length only in forms.
        validators=[MaxLengthValidator(MAX_NOTE_LENGTH)],
        blank=True,
        help_text=_("Remarks about the page."),
    )

    rows = PublicIdQuerySet[Self].as_manager()
    objects = BookmarkManager.from_queryset(PublicIdQuerySet)()

    class Meta:
        verbose_name = _("bookmark")
        verbose_name_plural = _("bookmarks")
        constraints = [
            models.UniqueConstraint(
                F("user_group"),
                F("url_digest"),
                COLLECTION_KEY,
                name="bookmarks_url",
            ),
        ]
        indexes = [
            models.Index(
                fields=["user_group", "created_at", "id"], name="bookmarks_by_group"
            ),
            models.Index(
                fields=["user_group", "updated_at", "id"], name="bookmarks_by_update"
            ),
            # Without the user group, PostgreSQL might combine both indexes,
            # and sort all bookmarks of the collection.
            models.Index(
                fields=["collection", "user_group", "created_at", "id"],
                name="bookmarks_in_collection",
            ),
        ]

    def __str__(self) -> str:
        return self.url

    @classmethod
    def cleaned_values(cls, values: Mapping[str, object]) -> dict[str, object]:
        """Also parse the URL, add its digest, and refuse a time in the future."""
        cleaned = super().cleaned_values(values)
        if "url" in cleaned:
            url = web_url.parse(cleaned["url"])
            cleaned["url"] = url
            cleaned["url_digest"] = url.digest
        if "created_at" in cleaned and cleaned["created_at"] > timezone.now():
            raise ValidationError({"created_at": IN_FUTURE})
        return cleaned

    @property
    def unique_key(self) -> UniqueKey:
        """The key that is unique within a user group.

        Raises ValueError if the URL has no digest yet and is invalid.
        """
        digest = bytes(self.url_digest) or web_url.digest(self.url)
        return self.collection_id or NO_COLLECTION, digest

    def clean(self) -> None:
        """Raise ValidationError if the collection belongs to another user
        group.
        """
        if self.collection is None:
            return
        if self.collection.user_group_id != self.user_group_id:
            reason = _("The user group has no such collection.")
            raise ValidationError({"collection": reason})

    def validate_constraints(self, exclude: Iterable[str] | None = None) -> None:
        """Refuse a URL that the collection of the bookmark already has."""
        # The field's validator reports an invalid URL.
        with suppress(ValueError):
            self.url_digest = web_url.digest(self.url)
        # Django's own check would not insert the row's ``collection_id`` in
        # the expression of the constraint.
        bookmarks = Bookmark.objects.for_write().exclude(pk=self.pk)
        duplicates = bookmarks.filter(
            user_group=self.user_group_id,
            collection=self.collection_id,
            url_digest=self.url_digest,
        )
        if not duplicates.exists():
            return
        hidden = set(exclude or ())
        shown = [name for name in ("url", "collection") if name not in hidden]
        field = shown[0] if shown else NON_FIELD_ERRORS
        raise ValidationError({field: BOOKMARK_EXISTS})
