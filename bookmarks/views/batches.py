"""The operations on many bookmarks."""

from itertools import starmap
from typing import Any, cast

from django.core.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import bookmark_errors, openapi, serializers
from bookmarks.models import Bookmark, BookmarkFields, Collection
from bookmarks.owned_rows import Duplicate
from bookmarks.querysets.bookmarks import TooManyFound
from bookmarks.querysets.bulk_writes import Stored
from usergroups.api import batches
from usergroups.api.batches import FailedItem, Result
from usergroups.api.parsers import BatchParser
from usergroups.api.views import BatchMixin
from usergroups.db.cascades import ProtectingError
from usergroups.db.retry import retry_on_conflict

from .access_token_view import BookmarkAPIView


class BookmarkBatchView(BatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkBatchSerializer}
    response_serializers = {"POST": serializers.BookmarkBatchEnvelope}
    # loaded for the user group in the response
    large_owner_fields = {"POST": ("properties",)}
    costly_methods = ("POST",)
    parser_classes = [BatchParser]

    @openapi.create_bookmarks
    def post(self, request: Request) -> Response:
        fields = self.get_valid_serializer().validated_data
        using = Bookmark.objects.for_write().db
        return retry_on_conflict(lambda: self.store(**fields), using, atomic=False)

    def store(self, bookmarks: list[Any], update: bool = False) -> Response:
        """Store the valid items, and return a response with all results.

        Raises IntegrityError if a collection has been deleted meanwhile.
        """
        resolved = self.with_collections(bookmarks)
        try:
            stored = self.add_many(resolved, update)
        except ValidationError:
            # A validator of the host refuses some of them.
            resolved = [self.checked(item) for item in resolved]
            stored = self.add_many(resolved, update)
        results = batches.results(resolved, map(self.result, stored))
        return self.respond({"user_group": self.user_group, "results": results})

    def add_many(
        self, items: list[BookmarkFields | FailedItem], update: bool
    ) -> list[Stored]:
        valid = batches.valid(items)
        size = Bookmark.objects.estimate_add_size(self.user_group, valid)
        batches.require_small_results(size)
        return Bookmark.objects.add_many(self.user_group, valid, update=update)

    def checked(self, item: BookmarkFields | FailedItem) -> BookmarkFields | FailedItem:
        """Return the item, or a FailedItem if the model refuses a value."""
        if isinstance(item, FailedItem):
            return item
        try:
            Bookmark.cleaned(self.user_group, **item)
        except ValidationError as error:
            return self.failed(error)
        return item

    def result(self, stored: Stored) -> Result:
        return {
            "bookmark": stored.bookmark,
            "changed": stored.changed,
            "updated_at": stored.bookmark.updated_at,
            "status": 201 if stored.created else 200,
        }

    def with_collections(self, items: list[Any]) -> list[BookmarkFields | FailedItem]:
        """Return the items with collections in place of their ids.

        An item whose collection does not exist is replaced by a FailedItem.
        The collections are read at once.
        """
        ids = [item.get("collection") for item in batches.valid(items)]
        collections = Collection.objects.on_db_for_write().find_by_ids(
            self.user_group, ids
        )
        resolved: list[BookmarkFields | FailedItem] = []
        for item in items:
            # None also for a FailedItem
            public_id = item.get("collection")
            if public_id is None:
                resolved.append(item)
            elif public_id in collections:
                fields = {**item, "collection": collections[public_id]}
                resolved.append(cast(BookmarkFields, fields))
            else:
                resolved.append(self.failed(bookmark_errors.InvalidCollection()))
        return resolved


class BookmarkBatchDeletionView(BatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkIdsSerializer}
    response_serializers = {"POST": serializers.BookmarkDeletionEnvelope}
    costly_methods = ("POST",)

    @openapi.delete_bookmarks
    def post(self, request: Request) -> Response:
        return self.remove(**self.get_valid_serializer().validated_data)

    def remove(self, ids: list[Any]) -> Response:
        """Delete the bookmarks, and return a response with all results."""
        existed = Bookmark.objects.delete_by_ids(self.user_group, batches.valid(ids))
        deletions = map(self.result, existed)
        return self.respond({"results": batches.results(ids, deletions)})

    def result(self, existed: bool | ProtectingError) -> Result:
        """Return the result of an item, for what ``delete_by_ids`` returns."""
        if isinstance(existed, ProtectingError):
            return self.failed(existed)
        if not existed:
            return self.failed(Bookmark.DoesNotExist())
        return {"status": 200, "changed": True}


class BookmarkBatchMoveView(BatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkMoveSerializer}
    response_serializers = {"POST": serializers.BookmarkMoveEnvelope}
    costly_methods = ("POST",)

    @openapi.move_bookmarks
    def post(self, request: Request) -> Response:
        return self.move(**self.get_valid_serializer().validated_data)

    def move(self, ids: list[Any], collection: Collection | None) -> Response:
        """Move the bookmarks, and return a response with all results."""
        valid = batches.valid(ids)
        size = Bookmark.objects.estimate_move_size(self.user_group, valid)
        batches.require_small_results(size)
        outcomes = Bookmark.objects.move_by_ids(self.user_group, valid, collection)
        moves = starmap(self.result, outcomes)
        return self.respond({"results": batches.results(ids, moves)})

    def result(self, found: Bookmark | Duplicate | None, moved: bool) -> Result:
        """Return the result of an item, for what ``move_by_ids`` returns."""
        if found is None:
            return self.failed(Bookmark.DoesNotExist())
        if isinstance(found, Duplicate):
            return self.failed(found)
        return {
            "bookmark": found,
            "changed": moved,
            "updated_at": found.updated_at,
            "status": 200,
        }


class BookmarkLookupView(BatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkLookupSerializer}
    response_serializers = {"POST": serializers.BookmarkLookupEnvelope}
    # A read-only token may call these methods.
    safe_methods = ("POST",)
    costly_methods = ("POST",)
    parser_classes = [BatchParser]
    errors = {
        **BookmarkAPIView.errors,
        TooManyFound: bookmark_errors.TooManyBookmarksFound,
    }

    @openapi.lookup_bookmarks
    def post(self, request: Request) -> Response:
        return self.look_up(**self.get_valid_serializer().validated_data)

    def look_up(self, urls: list[Any]) -> Response:
        """Find the bookmarks, and return a response with all results."""
        found = Bookmark.objects.find_by_urls(self.user_group, batches.valid(urls))
        lookups = [{"ids": ids, "status": 200} for ids in found]
        return self.respond({"results": batches.results(urls, lookups)})
