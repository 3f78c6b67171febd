"""The operations on many bookmarks."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_view
from rest_framework.response import Response

from bookmarks import bookmark_errors, openapi, serializers
from bookmarks.models import Bookmark, BookmarkFields, Collection
from bookmarks.querysets.batch_writes import RELATIVE, Stored
from bookmarks.querysets.bookmarks import TooManyFound
from usergroups.api.batches import Result
from usergroups.api.parsers import BatchParser
from usergroups.api.serializers import Validated
from usergroups.api.views import BatchMixin, StoringBatchMixin
from usergroups.db.bounded_reads import require_small_results
from usergroups.db.outcomes import valid_items, with_outcomes
from usergroups.db.retry import retry_on_conflict

from .access_token_view import BookmarkAPIView


@extend_schema_view(post=openapi.create_bookmarks)
class BookmarkBatchView(StoringBatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkBatchSerializer}
    response_serializers = {"POST": serializers.BookmarkBatchEnvelope}
    list_name = "bookmarks"
    # loaded for the user group in the response
    large_owner_fields = {"POST": ("properties",)}
    parser_classes = [BatchParser]

    def perform_batch(
        self, items: list[Validated], update: bool = False
    ) -> list[Stored | Exception]:
        bookmarks = Bookmark.objects.for_write()

        def store() -> list[Stored | Exception]:
            # An IntegrityError means that a collection has just been deleted.
            placed = self.with_collections(items)
            valid = valid_items(placed)
            stored = Bookmark.objects.add_each(self.user_group, valid, update=update)
            return with_outcomes(placed, stored)

        is_relative = any(item.keys() & RELATIVE for item in items)
        return retry_on_conflict(store, bookmarks.db, atomic=is_relative)

    def with_collections(
        self, items: list[Validated]
    ) -> list[BookmarkFields | Exception]:
        """Return the items with collections in place of their ids, and an
        exception for each whose collection does not exist.

        The collections are read at once.
        """
        ids = [item.get("collection") for item in items]
        manager = Collection.objects.on_db_for_write()
        found = manager.find_by_ids(self.user_group, ids)
        collections: dict[object, Collection | None] = {None: None, **found}
        placed: list[Any] = []
        for item, public_id in zip(items, ids, strict=True):
            if public_id in collections:
                placed.append({**item, "collection": collections[public_id]})
            else:
                placed.append(bookmark_errors.InvalidCollection())
        return placed

    def respond_results(self, results: Sequence[Result]) -> Response:
        return self.respond({"user_group": self.user_group, "results": results})


@extend_schema_view(post=openapi.delete_bookmarks)
class BookmarkBatchDeletionView(BatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkIdsSerializer}
    response_serializers = {"POST": serializers.BookmarkDeletionEnvelope}
    list_name = "ids"

    def perform_batch(self, items: list[str]) -> list[object]:
        deleted = Bookmark.objects.delete_by_ids(self.user_group, items)
        return [each or Bookmark.DoesNotExist() for each in deleted]


@extend_schema_view(post=openapi.move_bookmarks)
class BookmarkBatchMoveView(StoringBatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkMoveSerializer}
    response_serializers = {"POST": serializers.BookmarkMoveEnvelope}
    list_name = "ids"

    def perform_batch(
        self, items: list[str], collection: Collection | None
    ) -> list[object]:
        size = Bookmark.objects.estimate_move_size(self.user_group, items)
        require_small_results(size)
        moves = Bookmark.objects.move_by_ids(self.user_group, items, collection)
        return [
            Stored(found, created=False, changed=moved)
            if isinstance(found, Bookmark)
            else found or Bookmark.DoesNotExist()
            for found, moved in moves
        ]


@extend_schema_view(post=openapi.lookup_bookmarks)
class BookmarkLookupView(BatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkLookupSerializer}
    response_serializers = {"POST": serializers.BookmarkLookupEnvelope}
    list_name = "urls"
    # A read-only token may call these methods.
    safe_methods = ("POST",)
    parser_classes = [BatchParser]
    errors = {
        **BookmarkAPIView.errors,
        TooManyFound: bookmark_errors.TooManyBookmarksFound,
    }

    def perform_batch(self, items: list[str]) -> list[list[UUID]]:
        return Bookmark.objects.find_by_urls(self.user_group, items)

    def result(self, outcome: list[UUID]) -> Result:
        return {"ids": outcome, "status": 200}
