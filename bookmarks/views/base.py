"""What every bookmark operation stands on."""

from typing import Any, cast

from django.db import IntegrityError
from django.utils.encoding import escape_uri_path
from rest_framework.response import Response

from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.exceptions import BookmarkNotFound, CollectionDoesNotExist, CollectionNotFound
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.querysets import BookmarkQuerySet, CollectionQuerySet
from usergroups.contract import batch
from usergroups.contract.errors import DatabaseUnavailable
from usergroups.contract.views import ContractView
from usergroups.models import UserGroup
from usergroups.tokens.authentication import InvalidToken, TokenPermission
from usergroups.tokens.throttling import TokenThrottle


class AccessTokenView(ContractView):
    """A view for a user group's program; it sees the group's bookmarks and collections."""

    authentication_classes = [AccessTokenAuthentication]
    permission_classes = [TokenPermission]
    throttle_classes = [TokenThrottle]

    @property
    def user_group(self) -> UserGroup:
        return cast(AccessToken, self.request.auth).user_group

    @property
    def bookmarks(self) -> BookmarkQuerySet:
        return Bookmark.objects.filter(user_group=self.user_group).select_related("collection")

    @property
    def collections(self) -> CollectionQuerySet:
        return Collection.objects.filter(user_group=self.user_group)

    def handle_exception(self, exc: Exception) -> Response:
        match exc:
            case Bookmark.DoesNotExist():
                exc = BookmarkNotFound()
            case Collection.DoesNotExist():
                exc = CollectionNotFound()
            case IntegrityError():
                # Either the group was deleted during the call, and the token with it, or each attempt met a conflict.
                exists = UserGroup.objects.filter(pk=self.user_group.pk).exists()
                answer = DatabaseUnavailable() if exists else InvalidToken()
                answer.__cause__ = exc  # for the log
                exc = answer
        return super().handle_exception(exc)

    def check_that_it_is_there(self, collection: Collection | None) -> None:
        """Raises CollectionDoesNotExist if the collection was deleted since the look at it."""
        if collection and not self.collections.filter(pk=collection.pk).exists():
            raise CollectionDoesNotExist

    def named_in(self, items: Any) -> dict[object, Collection]:
        """Return those of the group's collections, by id, that the items of a call name. At most one query."""
        items = items[: batch.MAX_ITEMS] if isinstance(items, list) else []
        return self.collections.by_public_id(item.get("collection") for item in items if isinstance(item, dict))

    def created(self, data: Any, thing: Bookmark | Collection) -> Response:
        """Answer that the thing is new and where, below the address of the call, it can be read."""
        return Response(data, status=201, headers={"Location": f"{escape_uri_path(self.request.path)}/{thing.pk}"})
