"""The base class of the views that authenticate with an access token."""

from typing import ClassVar, cast
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Model, QuerySet
from django.utils.encoding import escape_uri_path
from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import bookmark_errors
from bookmarks.authentication import AccessTokenAuthentication
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.owned_rows import Duplicate, parse_public_id
from bookmarks.serializers import BookmarkSerializer, CollectionSerializer
from usergroups.api.preconditions import PreconditionFailed, accepted_versions
from usergroups.api.serializers import AnySerializer
from usergroups.api.views import SELECTION, ObjectMixin, is_overridden
from usergroups.db.cascades import TooManyDependants
from usergroups.db.versions import Modified
from usergroups.models import UserGroup
from usergroups.tokens.views import TokenView
from usergroups.user_group_errors import TooLargeToDelete


class AccessTokenView(TokenView):
    """A view on the bookmarks and collections of the user group to which the
    access token belongs.
    """

    authentication_classes = [AccessTokenAuthentication]
    errors = {
        Bookmark.DoesNotExist: bookmark_errors.BookmarkNotFound,
        Collection.DoesNotExist: bookmark_errors.CollectionNotFound,
        Duplicate: bookmark_errors.BookmarkExists,
        Modified: PreconditionFailed,
        TooManyDependants: TooLargeToDelete,
    }

    @cached_property
    def user_group(self) -> UserGroup:
        return cast(AccessToken, self.request.auth).user_group

    @cached_property
    def valid_serializer(self) -> AnySerializer:
        """Return the serializer of the request. Its ``validated_data`` have the
        collection in place of its id, if there is one.

        Raises ValidationError.
        """
        serializer = super().valid_serializer
        fields = serializer.validated_data
        if fields.get("collection") is not None:
            collections = Collection.objects.on_db_for_write()
            found = collections.find_by_id(self.user_group, fields["collection"])
            if found is None:
                raise bookmark_errors.InvalidCollection
            fields["collection"] = found
        return serializer

    def handle_exception(self, exc: Exception) -> Response:
        explained = self.explain(exc)
        if isinstance(explained, bookmark_errors.AlreadyExists):
            explained.location = self.path_of(explained.existing)
        return super().handle_exception(explained)

    def explain_integrity_error(self, error: IntegrityError) -> Exception:
        if self.has_lost_collection():
            return bookmark_errors.InvalidCollection()
        return super().explain_integrity_error(error)

    def has_lost_collection(self) -> bool:
        """Return whether the collection of the request has been deleted since
        it was read.
        """
        collection = self.validated_data.get("collection")
        if collection is None:
            return False
        collections = Collection.objects.filter(user_group=self.user_group)
        return not collections.for_write().contains(collection)

    def location_of(self, instance: Model) -> str:
        return self.path_of(instance.pk)

    def path_of(self, key: UUID | str) -> str:
        """Return the path of the object with this key.

        A POST goes to the list, so append the key. A PATCH that would make a
        duplicate goes to another object of the list, so replace its id.
        """
        path = escape_uri_path(self.request.path)
        if "id" in self.kwargs:
            path = path.rpartition("/")[0]
        return f"{path}/{key}"


class BookmarkAPIView(AccessTokenView):
    """A view on bookmarks.

    Attributes that a host sets here hold for all of them.
    """

    serializer_class = BookmarkSerializer
    object_name = "bookmark"

    def get_queryset(self) -> QuerySet[Bookmark]:
        return Bookmark.objects.filter(user_group=self.user_group)


class CollectionAPIView(AccessTokenView):
    """A view on collections."""

    errors = {**AccessTokenView.errors, Duplicate: bookmark_errors.CollectionExists}
    serializer_class = CollectionSerializer
    object_name = "collection"

    def get_queryset(self) -> QuerySet[Collection]:
        return Collection.objects.filter(user_group=self.user_group)


class PublicIdMixin(ObjectMixin, AccessTokenView):
    """Reads, changes and deletes the object with the id in the path."""

    model: ClassVar[type[Bookmark | Collection]]

    def get(self, request: Request, id: str) -> Response:
        return self.retrieve(request)

    def patch(self, request: Request, id: str) -> Response:
        return self.update(request)

    def delete(self, request: Request, id: str) -> Response:
        return self.destroy(request)

    def find_object(self) -> Bookmark | Collection:
        public_id = self.kwargs["id"]
        found: Bookmark | Collection | None
        if is_overridden(type(self), SELECTION):
            key = parse_public_id(public_id)
            found = self.get_queryset().filter(pk=key).first()
        else:
            found = self.model.objects.find_by_id(self.user_group, public_id)
        if found is None:
            raise self.model.DoesNotExist
        return found

    def perform_update(self, serializer: AnySerializer) -> None:
        versions = accepted_versions(self.request)
        serializer.instance = self.model.objects.update_by_id(
            self.user_group, self.kwargs["id"], versions, **serializer.validated_data
        )

    def perform_destroy(self, instance: Bookmark | Collection | None) -> None:
        versions = accepted_versions(self.request)
        self.model.objects.delete_by_id(self.user_group, self.kwargs["id"], versions)
