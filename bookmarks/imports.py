"""Store the records of a file as bookmarks.

Imports and batches share one ``INSERT ... ON CONFLICT DO NOTHING``.
PostgreSQL's ``COPY`` would fail if any of the rows exists already.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import Error, router, transaction
from django.utils import timezone
from rest_framework.exceptions import APIException
from uuid_utils.compat import uuid7

from bookmarks import web_url
from bookmarks.files import (
    NO_DATES,
    CollectionRecord,
    FileRecord,
    InvalidRecord,
    UnreadableFile,
    parse_date,
)
from bookmarks.files.folder_paths import shortened
from bookmarks.files.problems import gettext_noop
from bookmarks.models import (
    MAX_COLLECTION_NAME_LENGTH,
    MAX_NOTE_LENGTH,
    MAX_TITLE_LENGTH,
    Bookmark,
    Collection,
)
from bookmarks.querysets.merging import merge
from bookmarks.querysets.unique_keys import NO_COLLECTION, UniqueKey
from bookmarks.tags import MAX_TAG_LENGTH, MAX_TAGS, distinct
from bookmarks.web_url import CONTROL_CHARACTER
from usergroups.api.throttling import Deadline, TimeLimitExceeded
from usergroups.db.retry import ConflictingWrite, retry_on_conflict
from usergroups.events import MAX_TEXT, Event, Kind, record_events
from usergroups.models import UserGroup

from .import_report import Report, printable, refused_lines, translated

logger = logging.getLogger(__name__)

MAX_MEMORY = 1024 * 1024  # bytes; a larger file is kept on the disk

ROWS_PER_TRANSACTION = 1000
# Records that cannot be stored. A ZIP of 4 kB may contain millions of them, and
# a short one takes up to ten times the time of as many bytes of an ordinary file.
MAX_REFUSED = 100_000
# Empty collections that are held back until there is a bookmark.
MAX_HELD = 10_000

# The keys of the numbers in the event of an import.
NEW = gettext_noop("new")
UPDATED = gettext_noop("updated")
EXISTING = gettext_noop("already existed")
REFUSED = gettext_noop("refused")


class StorageUnavailable(APIException):
    status_code = 503
    default_code = "service_unavailable"
    default_detail = "The server cannot store the file. Try again later."
    wait = 60  # seconds, for the header Retry-After


@contextmanager
def copied(parts: Iterable[bytes]) -> Iterator[BinaryIO]:
    """Open a temporary file with these bytes, from its beginning."""
    folder = settings.FILE_UPLOAD_TEMP_DIR
    with SpooledTemporaryFile(MAX_MEMORY, dir=folder) as file:
        file.writelines(parts)
        file.seek(0)
        yield cast(BinaryIO, file)


@contextmanager
def rolled_back_if(dry_run: bool, using: str) -> Iterator[None]:
    """Roll back all changes of the block if it is a dry run.

    Their locks are held until the block ends.
    """
    if not dry_run:
        yield
        return
    with transaction.atomic(using):
        yield
        transaction.set_rollback(True, using)


class Row(NamedTuple):
    """A bookmark, or an empty collection, as it is stored."""

    # The name of the collection, or an empty string.
    collection: str
    # The bookmark's values by field, or an empty dict if there is no bookmark.
    values: dict[str, Any]


# The fields that an update writes to existing bookmarks.
UPDATED_FIELDS = ("title", "created_at", "tags", "note")

VALIDATED_FIELDS = ("url", "title", "tags", "note")

# The validators that a host has added, with the names of their fields.
Validators = Sequence[tuple[str, Callable[[object], None]]]


def store(
    user_group: UserGroup,
    records: Iterable[FileRecord],
    report: Report,
    collection: Collection | None = None,
    update: bool = False,
    *,
    deadline: Deadline,
) -> None:
    """Store the records, 1,000 in each transaction, and add what was stored
    and refused to the report.

    A record goes into ``collection`` if one is given, or else into the
    collection that it names, which is created if it is missing. With
    ``update``, existing bookmarks get the values that the file has for them,
    the last ones if it has several. Otherwise they are not changed. An
    interrupted import can be run again from the start.

    If another transaction deletes a collection that the file names, it is
    created again. The import ends where the file is damaged, after MAX_REFUSED
    refused records, or at the deadline, even if a reader loops, and
    ``report.error`` is the reason. Raises ValidationError if ``collection``
    belongs to another user group, and IntegrityError if either is deleted. What
    was stored before an error remains stored. An event of the user group tells
    what was imported.
    """
    Bookmark(user_group=user_group, collection=collection).clean()
    using = router.db_for_write(Bookmark)
    rows = valid_rows(records, report, with_collections=collection is None)
    # Rows are read before any row is locked, because the file may be a slow
    # pipe.
    chunk: list[Row] = []
    chunks = 0
    try:
        while _read_chunk(rows, chunk, report, deadline):
            chunks += 1
            if update and chunks == 2:
                Bookmark.objects.db_manager(using).analyze_if_outdated()
            counts = retry_on_conflict(
                partial(_store, user_group, chunk, collection, update, using), using
            )
            report.add(counts)
    finally:
        # Also after an error, because what was stored remains.
        record_import(user_group, report, using)


def _read_chunk(
    rows: Iterator[Row], chunk: list[Row], report: Report, deadline: Deadline
) -> bool:
    """Replace the rows of the chunk by the next ones. Return whether there are
    any.
    """
    chunk.clear()
    try:
        if deadline.has_passed():
            raise TimeLimitExceeded
        with deadline.interrupt():
            chunk.extend(islice(rows, ROWS_PER_TRANSACTION))
    except TimeLimitExceeded:
        # The rows that were read remain in the chunk.
        report.stop(deadline.seconds, report.last_line + 1)
    return bool(chunk)


def _store(
    user_group: UserGroup,
    rows: Sequence[Row],
    collection: Collection | None,
    update: bool,
    using: str,
) -> dict[str, int]:
    """Store the rows, and return what to add to the numbers of the report.

    Call this in a transaction.
    """
    # Each name once, in the order of the file.
    names = dict.fromkeys(row.collection for row in rows if row.collection)
    collections = Collection.objects.db_manager(using)
    found, new_collections = collections.get_or_create_many(user_group, list(names))
    bookmarks = [row for row in rows if row.values]
    distinct: dict[UniqueKey, dict[str, object]] = {}
    dropped_tags = 0
    for name, values in bookmarks:
        stored_in = collection or found.get(name)
        collection_id = stored_in.pk if stored_in else None
        key = collection_id or NO_COLLECTION, values["url_digest"]
        if key not in distinct:
            distinct[key] = {"collection_id": collection_id, **values}
        elif update:
            changes, dropped = merge(distinct[key], _changes(values))
            distinct[key].update(changes)
            dropped_tags += dropped
    stored = Bookmark.objects.db_manager(using)
    updated = 0
    if update:
        changes_by_key = {key: _changes(values) for key, values in distinct.items()}
        existing, updated, dropped = stored.update_by_unique_key(
            user_group, changes_by_key
        )
        dropped_tags += dropped
        for key in existing:
            del distinct[key]
    now = timezone.now()
    new = []
    for values in distinct.values():
        created_at = values["created_at"] or now
        times = {"created_at": created_at, "updated_at": now}
        new.append({"id": uuid7(), **values, **times})
    created = stored.insert_new(user_group, new)
    # Another transaction has just created some, which are to be updated.
    if update and len(created) < len(new):
        raise ConflictingWrite
    return {
        "created": len(created),
        "updated": updated,
        "existing": len(bookmarks) - len(created) - updated,
        "collections": len(new_collections),
        "shortened": dropped_tags,
    }


def _changes(values: dict[str, object]) -> dict[str, object]:
    """Return the values that an update writes to an existing bookmark."""
    return {name: values[name] for name in UPDATED_FIELDS if values[name]}


def valid_rows(
    records: Iterable[FileRecord], report: Report, with_collections: bool
) -> Iterator[Row]:
    """Yield the rows of the valid records, and add the others to the report.

    Without ``with_collections``, the collections that the records name are
    ignored. Empty collections come after the first bookmark, or at the end of a
    file that has nothing else. The rows end, and the report says why, after too
    many refused records, or where the file cannot be read.
    """
    validators = host_validators()
    has_bookmarks = False
    held: list[Row] = []
    try:
        for record in records:
            report.last_line = record.line
            try:
                row = _row(record, report, with_collections, validators)
            except ValueError as error:
                report.refuse(record, error.args[0])
                if report.refused < MAX_REFUSED:
                    continue
                problem = gettext_noop(
                    "The import was stopped at line %(line)s (in a JSON file, bookmark "
                    "%(line)s), because %(max)s records were refused.",
                    line=record.line,
                    max=MAX_REFUSED,
                )
                raise UnreadableFile(problem) from None
            held.append(row)
            if row.values or len(held) > MAX_HELD:
                has_bookmarks = True
            if has_bookmarks:
                yield from held
                held.clear()
    except UnreadableFile as error:
        report.error = translated(error.problem)
        return
    if held and not report.refused:
        report.stored_folders_only(len(held))
        yield from held


def _row(
    record: FileRecord, report: Report, with_collections: bool, validators: Validators
) -> Row:
    """Return the row of a record, and count in the report what is shortened or
    left out. A collection without bookmarks has no values.

    Raises ValueError with the reason if the record is invalid.
    """
    if isinstance(record, InvalidRecord):
        raise ValueError(record.reason)
    name = ""
    if with_collections and record.collection:
        name = shortened(record.collection, MAX_COLLECTION_NAME_LENGTH)
        _validate_text("collection", name)
        report.shortened += name != record.collection
    if isinstance(record, CollectionRecord):
        return Row(name, {})
    if not isinstance(record.url, str):
        raise ValueError(gettext_noop("The URL is not text."))
    _validate_text("url", record.url)
    # Raises ValueError if the URL is invalid.
    url = web_url.parse(record.url)
    if len(url) > web_url.MAX_LENGTH:
        problem = gettext_noop(
            "The URL is longer than %(max)s characters.", max=web_url.MAX_LENGTH
        )
        raise ValueError(problem)
    values: dict[str, object] = {
        "url": url,
        "url_digest": url.digest,
        "title": _text("title", record.title or "", MAX_TITLE_LENGTH, report),
        "tags": _tags(record.tags, report),
        "note": _text("note", record.note, MAX_NOTE_LENGTH, report),
        "created_at": None,
    }
    if record.created_at not in NO_DATES:
        values["created_at"] = parse_date(record.created_at)
        report.unusable_dates += values["created_at"] is None
    try:
        for field, validate in validators:
            if values[field]:
                validate(values[field])
    except ValidationError as error:
        raise ValueError(" ".join(error.messages)) from None
    return Row(name, values)


def host_validators() -> Validators:
    """Return the validators that a host has added, with the names of their
    fields.

    The import itself does what the others check. To run them as well would take
    a third of the time of a row.
    """
    validators = []
    for name in VALIDATED_FIELDS:
        field: Any = Bookmark._meta.get_field(name)
        for validate in field.validators:
            is_own = validate is web_url.validate
            if not is_own and not isinstance(validate, MaxLengthValidator):
                validators.append((name, validate))
    return validators


def _text(name: str, text: str, max_length: int, report: Report) -> str:
    """Return the text, shortened if it is too long."""
    _validate_text(name, text)
    if len(text) > max_length:
        report.shortened += 1
        return f"{text[: max_length - 1]}…"
    return text


def _tags(tags: Sequence[str], report: Report) -> list[str]:
    """Return the tags as they are stored, and count those that are shortened
    or dropped, or have control characters.
    """
    cleaned = []
    for tag in tags:
        trimmed = tag.strip()
        valid = CONTROL_CHARACTER.sub(" ", trimmed)[:MAX_TAG_LENGTH].strip()
        report.shortened += valid != trimmed
        cleaned.append(valid)
    _validate_text("tags", "".join(cleaned))
    kept = distinct(filter(None, cleaned))
    report.shortened += max(0, len(kept) - MAX_TAGS)
    return kept[:MAX_TAGS]


def _validate_text(name: str, value: str) -> None:
    """Raise ValueError if the text cannot be stored."""
    try:
        value.encode()
    except UnicodeEncodeError:
        problem = gettext_noop(
            "%(name)s cannot be decoded. If the file is not in UTF-8, name its "
            "encoding.",
            name=name,
        )
        raise ValueError(problem) from None
    if "\0" in value:
        raise ValueError(gettext_noop("%(name)s contains U+0000.", name=name))


def record_import(user_group: UserGroup, report: Report, using: str) -> None:
    """Record what was imported, unless the file contained nothing.

    A database error is logged. What was imported remains.
    """
    if report.is_empty:
        return
    counts = {
        NEW: report.created,
        UPDATED: report.updated,
        EXISTING: report.existing,
        REFUSED: report.refused,
    }
    event = Event(
        user_group=user_group,
        kind=Kind.IMPORTED,
        model=Bookmark._meta.label_lower,
        # a command, or "" for the operator or the token of the request
        actor=report.importer,
        counts=counts,
        text=printable(report.file_name)[:MAX_TEXT],
        refused_lines=refused_lines(report.refusals),
    )
    try:
        # In an outer transaction, an error only ends a savepoint.
        with transaction.atomic(using):
            record_events([event], using)
    except Error:
        logger.warning("Could not record an import.", exc_info=True)
