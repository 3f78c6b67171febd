"""The operations on many bookmarks."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_view
from rest_framework.response import Response

from bookmarks import bookmark_errors, openapi, serializers
from bookmarks.models import Bookmark, BookmarkFields, Collection
from bookmarks.querysets.bookmarks import TooManyFound
from bookmarks.querysets.bulk_writes import RELATIVE, Stored
from usergroups.api.batches import Result
from usergroups.api.parsers import BatchParser
from usergroups.api.serializers import Validated
from usergroups.api.views import BatchMixin
from usergroups.db.bounded_reads import require_small_results
from usergroups.db.outcomes import valid_items, with_outcomes
from usergroups.db.retry import retry_on_conflict

from .access_token_view import BookmarkAPIView


@extend_schema_view(post=openapi.create_bookmarks)
class BookmarkBatchView(BatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkBatchSerializer}
    response_serializers = {"POST": serializers.BookmarkBatchEnvelope}
    list_name = "bookmarks"
    # loaded for the user group in the response
    large_owner_fields = {"POST": ("properties",)}
    parser_classes = [BatchParser]

    def perform_batch(
        self, items: list[Validated], update: bool = False
    ) -> list[Stored | Exception]:
        using = Bookmark.objects.for_write().db
        is_relative = any(item.keys() & RELATIVE for item in items)
        return retry_on_conflict(
            lambda: self.store(items, update), using, atomic=is_relative
        )

    def store(self, items: list[Validated], update: bool) -> list[Stored | Exception]:
        """Store the items whose collections exist.

        Raises IntegrityError if a collection has been deleted meanwhile.
        """
        placed = self.with_collections(items)
        stored = Bookmark.objects.add_each(
            self.user_group, valid_items(placed), update=update
        )
        return with_outcomes(placed, stored)

    def with_collections(
        self, items: list[Validated]
    ) -> list[BookmarkFields | Exception]:
        """Return the items with collections in place of their ids, and an
        exception for each whose collection does not exist.

        The collections are read at once.
        """
        ids = [item.get("collection") for item in items]
        manager = Collection.objects.on_db_for_write()
        collections = manager.find_by_ids(self.user_group, ids)
        resolved: list[Any] = []
        for item, public_id in zip(items, ids, strict=True):
            if public_id is None:
                resolved.append(item)
            elif public_id in collections:
                resolved.append({**item, "collection": collections[public_id]})
            else:
                resolved.append(bookmark_errors.InvalidCollection())
        return resolved

    def respond_results(self, results: Sequence[Result]) -> Response:
        return self.respond({"user_group": self.user_group, "results": results})

    def result(self, outcome: Stored) -> Result:
        return {
            "bookmark": outcome.bookmark,
            "changed": outcome.changed,
            "updated_at": outcome.bookmark.updated_at,
            "status": 201 if outcome.created else 200,
        }


@extend_schema_view(post=openapi.delete_bookmarks)
class BookmarkBatchDeletionView(BatchMixin, BookmarkAPIView):
    request_serializers = {"POST": serializers.BookmarkIdsSerializer}
    response_serializers = {"POST": serializers.BookmarkDeletionEnvelope}
    list_name = "ids"

    def perform_batch(self, items: list[str]) -> list[object]:
        deleted = Bookmark.objects.delete_by_ids(self.user_group, items)
        return [each or Bookmark.DoesNotExist() for each in deleted]


@extend_schema_view(post=openapi.move_bookmarks)
class BookmarkBatchMoveView(BatchMixin, BookmarkAPIView):
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
            (found, moved)
            if isinstance(found, Bookmark)
            else found or Bookmark.DoesNotExist()
            for found, moved in moves
        ]

    def result(self, outcome: tuple[Bookmark, bool]) -> Result:
        bookmark, moved = outcome
        return {
            "bookmark": bookmark,
            "changed": moved,
            "updated_at": bookmark.updated_at,
            "status": 200,
        }


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
