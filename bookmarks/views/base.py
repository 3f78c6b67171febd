"""The base view of all bookmark operations."""

from typing import Any, cast

from django.utils.encoding import escape_uri_path
from rest_framework.response import Response

from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.exceptions import BookmarkNotFound, CollectionDoesNotExist, CollectionNotFound
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.querysets import BookmarkQuerySet, CollectionQuerySet
from usergroups.contract import batch
from usergroups.models import UserGroup
from usergroups.tokens.views import TokenView


class AccessTokenView(TokenView):
    """A view on the bookmarks and collections of the user group to which the access token belongs."""

    authentication_classes = [AccessTokenAuthentication]
    not_found = {Bookmark.DoesNotExist: BookmarkNotFound, Collection.DoesNotExist: CollectionNotFound}

    @property
    def user_group(self) -> UserGroup:
        return cast(AccessToken, self.request.auth).user_group

    @property
    def bookmarks(self) -> BookmarkQuerySet:
        return Bookmark.objects.filter(user_group=self.user_group).select_related("collection")

    @property
    def collections(self) -> CollectionQuerySet:
        return Collection.objects.filter(user_group=self.user_group)

    def check_collection_exists(self, collection: Collection | None) -> None:
        """Raise CollectionDoesNotExist if the collection has been deleted since it was looked up."""
        if collection and not self.collections.filter(pk=collection.pk).exists():
            raise CollectionDoesNotExist

    def find_collection(self, public_id: str) -> Collection | None:
        """Return the user group's collection with this id, or None."""
        return self.collections.by_public_id([public_id]).get(public_id)

    def look_up_collections(self, items: Any) -> dict[object, Collection]:
        """Return the user group's collections that the unvalidated ``items`` refer to, by id, in at most one query."""
        items = items[: batch.MAX_ITEMS] if isinstance(items, list) else []
        return self.collections.by_public_id(item.get("collection") for item in items if isinstance(item, dict))

    def created_response(self, data: Any, created: Bookmark | Collection) -> Response:
        """Return a response with status 201 and the location of the created object."""
        return Response(data, status=201, headers={"Location": f"{escape_uri_path(self.request.path)}/{created.pk}"})
