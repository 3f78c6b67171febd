"""The base view of all bookmark operations."""

from typing import Any, cast
from uuid import UUID

from django.db import IntegrityError
from django.utils.encoding import escape_uri_path
from rest_framework.response import Response

from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.exceptions import BookmarkNotFound, CollectionNotFound, InvalidCollection
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.querysets.bookmarks import BookmarkQuerySet
from bookmarks.querysets.collections import CollectionQuerySet
from usergroups.contract import batch
from usergroups.contract.etags import PreconditionFailed
from usergroups.exceptions import TooLargeToDelete
from usergroups.models import UserGroup
from usergroups.tokens.views import TokenView
from usergroups.transactions import Modified, TooManyDependants


class AccessTokenView(TokenView):
    """A view on the bookmarks and collections of the user group to which the access token belongs."""

    authentication_classes = [AccessTokenAuthentication]
    errors = {
        Bookmark.DoesNotExist: BookmarkNotFound,
        Collection.DoesNotExist: CollectionNotFound,
        Modified: PreconditionFailed,
        TooManyDependants: TooLargeToDelete,
    }

    collection: Collection | None = None
    """The collection to which the request refers, once it has been found."""

    @property
    def user_group(self) -> UserGroup:
        return cast(AccessToken, self.request.auth).user_group

    @property
    def bookmarks(self) -> BookmarkQuerySet:
        return Bookmark.objects.filter(user_group=self.user_group)

    @property
    def collections(self) -> CollectionQuerySet:
        return Collection.objects.filter(user_group=self.user_group)

    def find_collection(self, public_id: str) -> Collection | None:
        """Return the user group's collection with this id, or None."""
        self.collection = Collection.objects.find(self.user_group, public_id)
        return self.collection

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, IntegrityError) and self.collection and not self._exists(self.collection):
            exc = InvalidCollection()  # It has been deleted since it was found.
        return super().handle_exception(exc)

    def _exists(self, collection: Collection) -> bool:
        return self.collections.for_write().filter(pk=collection.pk).exists()

    def look_up_collections(self, items: Any) -> dict[object, Collection]:
        """Return the user group's collections that the unvalidated ``items`` refer to, by id, in at most one query."""
        items = items[: batch.MAX_ITEMS] if isinstance(items, list) else []
        return self.collections.for_write().by_public_id(
            item.get("collection") for item in items if isinstance(item, dict)
        )

    def location_of(self, key: UUID) -> str:
        """Return the path of a bookmark or collection. The request is to the list, or to another object of the list."""
        path = escape_uri_path(self.request.path)
        return f"{path.rpartition('/')[0] if 'id' in self.kwargs else path}/{key}"
