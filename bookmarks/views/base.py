"""The base class of the views that authenticate with an access token."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast
from uuid import UUID

from django.db import IntegrityError
from django.utils.encoding import escape_uri_path
from django.utils.functional import cached_property

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
        Modified: PreconditionFailed,
        TooManyDependants: TooLargeToDelete,
    }

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
        collection = collections.find_by_id(self.user_group, public_id)
        if collection is None:
            raise exceptions.InvalidCollection
        return collection

    def validated_with_collection(self) -> dict[str, Any]:
        """Return the validated data with the collection in place of its id, if
        there is one.

        Raises ValidationError.
        """
        fields = self.validated()
        if fields.get("collection") is not None:
            fields["collection"] = self.get_collection(fields["collection"])
        return fields

    @contextmanager
    def require_collection(self, collection: Collection | None) -> Iterator[None]:
        """Raise InvalidCollection if a write fails because the collection has
        been deleted since it was read.
        """
        try:
            yield
        except IntegrityError:
            if collection is None or self.collections.for_write().contains(collection):
                raise
            raise exceptions.InvalidCollection from None

    @contextmanager
    def explain_duplicate(
        self, error: Callable[..., exceptions.AlreadyExists]
    ) -> Iterator[None]:
        """Raise ``error`` with the id and the path of the object in the way if
        a write would create a duplicate.
        """
        try:
            yield
        except Duplicate as duplicate:
            location = self.location_of(duplicate.key)
            raise error(duplicate.key, location=location) from None

    def location_of(self, key: UUID) -> str:
        """Return the path of the object with this key.

        The request is to its list, or to another object of its list.
        """
        path = escape_uri_path(self.request.path)
        if "id" in self.kwargs:
            path = path.rpartition("/")[0]
        return f"{path}/{key}"
