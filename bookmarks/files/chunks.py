"""Store the rows of an import, one chunk at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, tee
from operator import attrgetter
from typing import TypeVar
from uuid import UUID

from django.db import IntegrityError, router

from bookmarks.models import Bookmark, Collection
from bookmarks.querysets.batches import NO_COLLECTION, UniqueKey
from bookmarks.querysets.bookmarks import BookmarkQuerySet
from usergroups import signals
from usergroups.models import UserGroup
from usergroups.transactions import retry_on_conflict

from .postgresql_copy import copy_rows, has_copy, missing_rows
from .report import Report
from .rows import Block, BookmarkRow, distinct, merged
from .updates import update_existing

T = TypeVar("T")


class UserGroupDeleted(Exception):
    """The user group and its bookmarks were deleted during the import."""


def _rows(blocks: Iterable[Block]) -> Iterator[BookmarkRow]:
    return chain.from_iterable(block.rows for block in blocks)


class ChunkImporter:
    """Stores the chunks of one import."""

    def __init__(self, user_group: UserGroup, collection: Collection | None, update: bool) -> None:
        self.user_group, self.collection, self.update = user_group, collection, update
        self.database = router.db_for_write(Bookmark)
        self.collection_ids: dict[str | None, UUID | None] = {None: collection.pk if collection else None}
        """The ids of the known collections by name.

        The key None stands for records without a named collection, which go into ``collection``.
        """
        self.has_copy = has_copy(self.database)
        self.some_exist = update
        """Whether some of the next rows probably exist, as some of the last chunk did."""

    @property
    def bookmarks(self) -> BookmarkQuerySet:
        return Bookmark.objects.using(self.database).filter(user_group=self.user_group)

    def store_chunk(self, blocks: Iterator[Block]) -> Report:
        first = next(blocks)
        self.check_user_group()
        if unknown := [name for name in first.collection_names if name not in self.collection_ids]:
            self.retry(lambda: self.get_or_create_collections(unknown))
        # COPY reads the blocks while it runs. If it fails, those blocks are inserted with the rest of the chunk.
        for_copy, for_insert = tee(chain([first], blocks))
        created, updated = None, 0
        if self.has_copy and not self.some_exist:
            created = self.copy(distinct(_rows(for_copy)))
            self.some_exist = created is None
        # Read the rest before the insert locks any rows, because the file may be a slow pipe.
        chunk = list(for_insert)
        if created is None:
            rows = merged(_rows(chunk)) if self.update else list(distinct(_rows(chunk)))
            created, updated = self.retry(lambda: self.insert(rows))
            self.some_exist = self.update or created < len(rows)
        report = Report(created, updated, existing=sum(len(block.rows) for block in chunk) - created - updated)
        for block in chunk:
            report.records += block.records
            report.refused += len(block.invalid_records)
            report.refusals += block.invalid_records
            report.unusable_dates += block.unusable_dates
            report.shortened += block.shortened
            report.left_out.add_all(block.left_out)
        report.collection_deleted = self.collection is not None and self.collection_ids[None] is None
        return report

    def copy(self, rows: Iterable[BookmarkRow]) -> int | None:
        return copy_rows(rows, self.user_group, self.collection_ids, self.database)

    def retry(self, action: Callable[[], T]) -> T:
        """Run ``action`` as ``retry_on_conflict`` does. Raises UserGroupDeleted if the user group is deleted."""
        return retry_on_conflict(action, self.database, self.check_user_group)

    def check_user_group(self) -> None:
        groups = UserGroup.objects.using(self.database)
        if not groups.filter(pk=self.user_group.pk, team__deleted_at=None).exists():
            raise UserGroupDeleted

    def insert(self, rows: Sequence[BookmarkRow]) -> tuple[int, int]:
        """Insert the rows that do not exist yet and update the others. Return the numbers of those that changed."""
        # Repeat this, because a collection may have been deleted since.
        self.get_or_create_collections(row.collection for row in rows)
        created = self.insert_missing(self.missing(rows) if self.some_exist else rows)
        if not self.update or created == len(rows):
            return created, 0
        return created, update_existing({self.unique_key(row): row for row in rows}, self.user_group, self.database)

    def insert_missing(self, rows: Sequence[BookmarkRow]) -> int:
        """Insert the rows, except those that another transaction has inserted, and return their number."""
        if not rows:
            return 0
        # Concurrent imports insert in the same order, so that they do not deadlock.
        rows = sorted(rows, key=lambda row: row.unique_key)
        if self.has_copy and (copied := self.copy(rows)) is not None:
            return copied
        new = [self.bookmark(row) for row in rows]
        self.bookmarks.bulk_create(new, ignore_conflicts=True)
        created = self.bookmarks.filter(pk__in=[bookmark.pk for bookmark in new])
        if signals.created.has_listeners(Bookmark):
            signals.announce(signals.created, list(created), self.database)
        return created.count()

    def missing(self, rows: Sequence[BookmarkRow]) -> Sequence[BookmarkRow]:
        """Return the rows that do not exist yet."""
        if self.has_copy:
            return missing_rows(rows, self.user_group, self.collection_ids, self.database)
        existing = self.bookmarks.existing_keys([self.unique_key(row) for row in rows])
        return [row for row in rows if self.unique_key(row) not in existing]

    def unique_key(self, row: BookmarkRow) -> UniqueKey:
        return self.collection_ids[row.collection] or NO_COLLECTION, row.url_digest

    def bookmark(self, row: BookmarkRow) -> Bookmark:
        values = row._asdict()
        collection_id, pk = self.collection_ids[values.pop("collection")], UUID(bytes=values.pop("id").bytes)
        return Bookmark(id=pk, user_group=self.user_group, collection_id=collection_id, **values)

    def get_or_create_collections(self, names: Iterable[str | None]) -> None:
        """Look up the collections with these names, create the missing ones in this order, and lock all of them.

        If ``collection`` has been deleted, records without a name go into no collection from now on.
        """
        collections = Collection.objects.using(self.database).filter(user_group=self.user_group)
        locked = collections.select_for_update(no_key=True).order_by("pk")
        if self.collection is not None and not locked.filter(pk=self.collection.pk):
            self.collection_ids[None] = None
        wanted = [name for name in dict.fromkeys(names) if name is not None]
        named = locked.filter(name__in=wanted).values_list("name", "pk")
        found = dict(named)
        if new := [Collection(user_group=self.user_group, name=name) for name in wanted if name not in found]:
            # Concurrent imports insert in the same order, so that they do not deadlock.
            collections.bulk_create(sorted(new, key=attrgetter("name")), ignore_conflicts=True)
            found = dict(named.all())
            own = [collection for collection in new if found.get(collection.name) == collection.pk]
            signals.announce(signals.created, own, self.database)
            if len(found) < len(wanted):
                raise IntegrityError("A collection that another transaction created has been deleted.")
        self.collection_ids.update(found)
