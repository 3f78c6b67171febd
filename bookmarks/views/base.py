"""The base class of the views that authenticate with an access token."""

from typing import Any, cast
from uuid import UUID

from django.db import IntegrityError
from django.utils.encoding import escape_uri_path
from django.utils.functional import cached_property
from rest_framework.response import Response

from bookmarks import exceptions
from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.public_ids import Duplicate
from bookmarks.querysets.collections import CollectionQuerySet
from usergroups.api.preconditions import PreconditionFailed
from usergroups.db.deletion import TooManyDependants
from usergroups.db.versions import Modified
from usergroups.exceptions import TooLargeToDelete
from usergroups.models import UserGroup
from usergroups.tokens.views import TokenView


class AccessTokenView(TokenView):
    """A view on the bookmarks and collections of the user group to which the
    access token belongs.
    """

    authentication_classes = [AccessTokenAuthentication]
    errors = {
        Bookmark.DoesNotExist: exceptions.BookmarkNotFound,
        Collection.DoesNotExist: exceptions.CollectionNotFound,
        Duplicate: exceptions.BookmarkExists,
        Modified: PreconditionFailed,
        TooManyDependants: TooLargeToDelete,
    }

    collection: Collection | None = None
    """The collection to which a field of the request refers."""

    @cached_property
    def user_group(self) -> UserGroup:
        return cast(AccessToken, self.request.auth).user_group

    @property
    def collections(self) -> CollectionQuerySet:
        return Collection.objects.filter(user_group=self.user_group)

    def get_collection(self, public_id: str) -> Collection:
        """Return the user group's collection with this id, to which a field of
        the request refers.

        Raises InvalidCollection.
        """
        collections = Collection.objects.on_db_for_write()
        self.collection = collections.find_by_id(self.user_group, public_id)
        if self.collection is None:
            raise exceptions.InvalidCollection
        return self.collection

    def validated_with_collection(self) -> dict[str, Any]:
        """Return the validated data with the collection in place of its id, if
        there is one.

        Raises ValidationError.
        """
        fields = self.validated()
        if fields.get("collection") is not None:
            fields["collection"] = self.get_collection(fields["collection"])
        return fields

    def handle_exception(self, exc: Exception) -> Response:
        explained = self.explain(exc)
        if isinstance(explained, exceptions.AlreadyExists):
            explained.location = self.location_of(explained.existing)
        return super().handle_exception(explained)

    def explain_integrity_error(self, error: IntegrityError) -> Exception:
        if self.has_lost_collection():
            return exceptions.InvalidCollection()
        return super().explain_integrity_error(error)

    def has_lost_collection(self) -> bool:
        """Return whether the collection of the request has been deleted since
        it was read.
        """
        if self.collection is None:
            return False
        return not self.collections.for_write().contains(self.collection)

    def location_of(self, key: UUID | str) -> str:
        """Return the path of the object with this key.

        The request is to its list, or to another object of its list.
        """
        path = escape_uri_path(self.request.path)
        if "id" in self.kwargs:
            path = path.rpartition("/")[0]
        return f"{path}/{key}"
