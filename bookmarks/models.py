"""Bookmarks and their collections, and the tokens that speak for a user group."""

from contextlib import suppress
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from uuid_utils.compat import uuid7

from usergroups.deletion import DeletableModel, HidingManager
from usergroups.models import UserGroup
from usergroups.tokens.models import Token

from . import web_url
from .querysets import NO_COLLECTION, BookmarkQuerySet, CollectionQuerySet, Identity


class AccessToken(Token):
    """Speaks for one user group: it sees and makes the group's bookmarks and no others."""

    prefix = "bma"
    owner_field = "user_group"

    user_group = models.ForeignKey(
        UserGroup,
        models.CASCADE,
        related_name="access_tokens",
        help_text="The token reaches this group's bookmarks and collections only.",
    )

    class Meta:
        permissions = [("revoke_accesstoken", "Can revoke access token")]


class Collection(DeletableModel):
    """A named set of a user group's bookmarks."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user_group = models.ForeignKey(UserGroup, models.CASCADE, related_name="collections", db_index=False)
    name = models.CharField(max_length=255, help_text="Unique among the user group's collections.")
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)

    objects = HidingManager.from_queryset(CollectionQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_group", "name"],
                condition=models.Q(deleted_at=None),
                name="bookmarks_collection_name",
                violation_error_message="The user group has a collection with this name.",
            ),
        ]
        indexes = [
            models.Index(fields=["user_group", "created_at", "id"], name="bookmarks_collections"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.user_group}"

    def validate_constraints(self, exclude: Any = None) -> None:
        # Django skips a constraint if a form leaves out one of its fields. The user group cannot change.
        super().validate_constraints(set(exclude or ()) - {"user_group"})


class URLDigestField(models.BinaryField):  # type: ignore[type-arg]
    """The identity of the row's ``url``, computed by whatever makes the row: save() and bulk_create() alike.

    A URL is never changed once it is stored; a queryset's update() would leave the old identity behind.
    """

    def pre_save(self, model_instance: models.Model, add: bool) -> bytes:
        digest = web_url.digest(model_instance.url)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, digest)
        return digest


class Bookmark(models.Model):
    """A URL that a user group keeps, once in each of its collections and once in none."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user_group = models.ForeignKey(UserGroup, models.CASCADE, related_name="bookmarks", db_index=False)
    # Deleting a collection releases its bookmarks first; the database refuses any deletion that does not.
    collection = models.ForeignKey(
        Collection,
        models.DO_NOTHING,
        related_name="bookmarks",
        null=True,
        blank=True,
        db_index=False,
        help_text="One of the user group's. Empty: in none.",
    )
    url = models.CharField(
        "URL",
        max_length=web_url.MAX_LENGTH,
        validators=[web_url.validate],
        help_text="Absolute, http or https. It is kept as it is written and never fetched.",
    )
    url_digest = URLDigestField(max_length=32, editable=False)
    title = models.CharField(max_length=1000, blank=True, help_text="Of the page, for people.")
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)

    objects = BookmarkQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                F("user_group"),
                F("url_digest"),
                Coalesce("collection_id", Value(NO_COLLECTION), output_field=models.UUIDField()),
                name="bookmarks_url",
                violation_error_message="The user group has this bookmark there already.",
            ),
        ]
        indexes = [
            models.Index(fields=["user_group", "created_at", "id"], name="bookmarks_by_group"),
            models.Index(fields=["collection", "created_at", "id"], name="bookmarks_by_collection"),
            models.Index(fields=["created_at", "id"], name="bookmarks_by_creation"),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def identity(self) -> Identity:
        """The key that is unique within a user group. Raises ValueError if the URL is not valid."""
        return self.collection_id or NO_COLLECTION, web_url.digest(self.url)

    @property
    def stored_identity(self) -> Identity:
        """The same key of a bookmark that was read from the database, without computing the digest again."""
        return self.collection_id or NO_COLLECTION, bytes(self.url_digest)

    @property
    def visible_collection(self) -> Collection | None:
        """Its collection, None once that was deleted: a large one releases its bookmarks some time later."""
        return self.collection if self.collection and self.collection.deleted_at is None else None

    def clean(self) -> None:
        """Raise ValidationError if the collection belongs to another user group."""
        if self.collection is not None and self.collection.user_group_id != self.user_group_id:
            raise ValidationError({"collection": "The user group has no such collection."})

    def validate_constraints(self, exclude: Any = None) -> None:
        exclude = set(exclude or ())
        field = next((name for name in ("url", "collection") if name not in exclude), NON_FIELD_ERRORS)
        with suppress(ValueError):  # what is no URL is told elsewhere
            self.url_digest = web_url.digest(self.url)
            exclude -= {"url_digest", "user_group"}  # as above
        try:
            super().validate_constraints(exclude)
        except ValidationError as error:
            raise ValidationError({field: error.messages}) from None
