"""Bookmarks and their collections, and the tokens that speak for a user group."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, router, transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from usergroups.models import UserGroup
from usergroups.tokens.models import Token

from . import web_url

ADD_ATTEMPTS = 3


class AccessToken(Token):
    """Speaks for one user group: it sees and makes the group's bookmarks and no others."""

    prefix = "bma"
    owner_field = "user_group"

    user_group = models.ForeignKey(UserGroup, models.CASCADE, related_name="access_tokens")


class CollectionQuerySet(models.QuerySet["Collection"]):
    def get_by_public_id(self, public_id: object) -> "Collection":
        """Raises Collection.DoesNotExist for any other text or type than exactly the id that the API gave."""
        try:
            key = UUID(str(public_id))
        except ValueError:
            raise self.model.DoesNotExist from None
        if str(key) != public_id:
            raise self.model.DoesNotExist
        return self.get(pk=key)


class Collection(models.Model):
    """A named set of a user group's bookmarks."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user_group = models.ForeignKey(UserGroup, models.CASCADE, related_name="collections", db_index=False)
    name = models.CharField(max_length=255)
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)

    objects = CollectionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_group", "name"],
                name="bookmarks_collection_name",
                violation_error_message="The user group has a collection with this name.",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class URLDigestField(models.BinaryField):  # type: ignore[type-arg]
    """The identity of the row's ``url``, computed on every way into the database: save() and bulk_create() alike."""

    def pre_save(self, model_instance: models.Model, add: bool) -> bytes:
        digest = web_url.digest(model_instance.url)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, digest)
        return digest


class BookmarkQuerySet(models.QuerySet["Bookmark"]):
    def add(self, *, user_group: UserGroup, url: str, collection: Collection | None = None) -> tuple["Bookmark", bool]:
        """Return the group's bookmark of ``url`` in ``collection`` and whether it is new.

        Raises IntegrityError if the group or the collection is deleted at the same moment.
        """
        bookmarks = self.using(router.db_for_write(self.model))
        same = {"user_group": user_group, "collection": collection, "url_digest": web_url.digest(url)}
        for _ in range(ADD_ATTEMPTS):
            try:
                with transaction.atomic(using=bookmarks.db):
                    return bookmarks.create(user_group=user_group, url=url, collection=collection), True
            except IntegrityError as error:
                conflict = error
            if existing := bookmarks.filter(**same).first():
                return existing, False
            # The one in the way is gone by now: try again.
        raise conflict


class Bookmark(models.Model):
    """A URL that a user group keeps, once in each of its collections and once in none."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user_group = models.ForeignKey(UserGroup, models.CASCADE, related_name="bookmarks", db_index=False)
    collection = models.ForeignKey(
        Collection, models.RESTRICT, related_name="bookmarks", null=True, blank=True, db_index=False
    )
    url = models.CharField("URL", max_length=web_url.MAX_LENGTH, validators=[web_url.validate])
    url_digest = URLDigestField(max_length=32, editable=False)
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)

    objects = BookmarkQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_group", "url_digest"],
                condition=models.Q(collection=None),
                name="bookmarks_url",
                violation_error_message="The user group has this bookmark.",
            ),
            models.UniqueConstraint(
                fields=["user_group", "collection", "url_digest"],
                condition=models.Q(collection__isnull=False),
                name="bookmarks_url_in_collection",
                violation_error_message="The collection has this bookmark.",
            ),
        ]
        indexes = [
            models.Index(fields=["user_group", "created_at", "id"], name="bookmarks_by_group"),
            models.Index(fields=["collection", "created_at", "id"], name="bookmarks_by_collection"),
        ]

    def __str__(self) -> str:
        return self.url

    def clean(self) -> None:
        """Raises ValidationError if the collection is not the group's."""
        if self.collection is not None and self.collection.user_group_id != self.user_group_id:
            raise ValidationError({"collection": "The user group has no such collection."})

    def validate_constraints(self, exclude: Any = None) -> None:
        # A form leaves out what it has no field for, and Django every constraint with a field that is left out.
        exclude = set(exclude or ())
        with suppress(ValueError):  # what is no URL is told elsewhere
            self.url_digest = web_url.digest(self.url)
            exclude -= {"url_digest", "user_group"}
        super().validate_constraints(exclude)
