"""Store a file's records as bookmarks."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db import router
from django.utils import timezone
from django.utils.translation import gettext as _
from uuid_utils.compat import uuid7

from bookmarks import web_url
from bookmarks.bulk import NewRow
from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, MAX_TITLE_LENGTH, Bookmark, Collection
from usergroups.models import UserGroup
from usergroups.transactions import retry_on_conflict

from .programs import parse_date, shortened
from .records import CollectionRecord, FileRecord, InvalidRecord, UnreadableFile
from .report import Report

CHUNK_SIZE = 1000  # rows that are stored in one transaction


class TargetDeleted(Exception):
    """The user group or the collection for the bookmarks was deleted during the import."""


class Row(NamedTuple):
    """The valid values of a record. A row without a URL stands for a collection without bookmarks."""

    collection: str | None
    url: str = ""
    url_digest: bytes = b""
    title: str = ""
    created_at: datetime | None = None
    """None if the record has no usable date."""


def store(
    user_group: UserGroup,
    records: Iterable[FileRecord],
    report: Report,
    collection: Collection | None = None,
    update: bool = False,
) -> None:
    """Store the records, 1,000 in each transaction, and add what was stored and refused to the report.

    A record goes into ``collection`` if one is given, or else into the collection that it names, which is created if
    it is missing. With ``update``, existing bookmarks get the titles and the dates that the file has for them, the last
    ones if it has several. Otherwise they are not changed. An interrupted import can be run again from the start.

    If another transaction deletes a collection that the file names, it is created again. The import ends if the user
    group or ``collection`` is deleted, or where the file is damaged, and ``report.error`` is the reason. What was
    stored before remains stored, also if this raises an exception of the database.
    """
    using = router.db_for_write(Bookmark)

    def check_targets() -> None:
        if not UserGroup.objects.using(using).filter(pk=user_group.pk).exists():
            raise TargetDeleted(_("The user group and its bookmarks were deleted during the import."))
        if collection and not Collection.objects.using(using).filter(pk=collection.pk).exists():
            raise TargetDeleted(_("The collection was deleted during the import."))

    rows = valid_rows(records, report, with_collections=collection is None)
    try:
        # A chunk is read before any row is locked, because the file may be a slow pipe.
        while chunk := list(islice(rows, CHUNK_SIZE)):
            store_chunk = partial(_store_chunk, user_group, chunk, collection, update, using)
            created, updated = retry_on_conflict(store_chunk, using, check_targets)
            report.created += created
            report.updated += updated
            report.existing += sum(1 for row in chunk if row.url) - created - updated
    except TargetDeleted as error:
        report.error = str(error)


def _store_chunk(
    user_group: UserGroup, rows: Sequence[Row], collection: Collection | None, update: bool, using: str
) -> tuple[int, int]:
    """Return the numbers of new and of updated bookmarks. Call this in a transaction."""
    places: dict[str | None, UUID | None] = {None: collection.pk if collection else None}
    if names := list(dict.fromkeys(row.collection for row in rows if row.collection)):
        named = Collection.objects.using(using).get_or_create_many(user_group, names)
        places |= {name: each.pk for name, each in named.items()}
    distinct: dict[tuple[str | None, bytes], Row] = {}
    for row in rows:
        if row.url:
            key = row.collection, row.url_digest
            first = distinct.setdefault(key, row)
            if update and first is not row:
                title, created_at = row.title or first.title, row.created_at or first.created_at
                distinct[key] = first._replace(title=title, created_at=created_at)
    now = timezone.now()
    new = [
        NewRow(uuid7(), places[row.collection], row.url, row.url_digest, row.title, row.created_at or now)
        for row in distinct.values()
    ]
    bookmarks = Bookmark.objects.using(using)
    created = bookmarks.insert_missing(user_group, new, now)
    if not update or len(created) == len(new):
        return len(created), 0
    existing = {
        stored.unique_key: {name: value for name in ("title", "created_at") if (value := getattr(row, name))}
        for stored, row in zip(new, distinct.values(), strict=True)
        if stored.id not in created
    }
    return len(created), bookmarks.filter(user_group=user_group).change_many(existing)


def valid_rows(records: Iterable[FileRecord], report: Report, with_collections: bool) -> Iterator[Row]:
    """Yield the rows of the valid records, and add the others to the report.

    Without ``with_collections``, the collections that the records name are ignored.
    """
    try:
        for record in records:
            try:
                row = _row(record, report, with_collections)
            except ValueError as error:
                report.refuse(record.line, str(error))
            else:
                if row.url or row.collection:
                    yield row
    except UnreadableFile as error:
        report.error = str(error)


def _row(record: FileRecord, report: Report, with_collections: bool) -> Row:
    """Return the row of a record. Raises ValueError with the reason if it is invalid."""
    if isinstance(record, InvalidRecord):
        raise ValueError(record.reason)
    name = (record.collection if with_collections else None) or None
    if name is not None:
        _validate_text("collection", name)
        if len(name) > MAX_COLLECTION_NAME_LENGTH:
            name = shortened(name)
            report.shortened += 1
    if isinstance(record, CollectionRecord):
        return Row(name)
    _line, url, title, _collection, created_at, left_out = record
    title = "" if title is None else title
    _validate_text("url", url)
    _validate_text("title", title)
    if len(url) > web_url.MAX_LENGTH:
        web_url.check_protocol(url)  # Bookmarklets may be long.
        raise ValueError(_("The URL is longer than %(max)s characters.") % {"max": web_url.MAX_LENGTH})
    digest, time = web_url.digest(url), None
    if len(title) > MAX_TITLE_LENGTH:
        title = f"{title[: MAX_TITLE_LENGTH - 1]}…"
        report.shortened += 1
    if created_at is not None and created_at != "":
        time = parse_date(created_at)
        report.unusable_dates += time is None
    if left_out:
        report.left_out.add(left_out)
    return Row(name, url, digest, title, time)


def _validate_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(_("%(name)s is not text.") % {"name": name})
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            text = _("%(name)s cannot be decoded. If the file has another encoding, give it, for example windows-1252.")
            raise ValueError(text % {"name": name}) from None
    if "\0" in value:
        raise ValueError(_("%(name)s contains U+0000.") % {"name": name})
