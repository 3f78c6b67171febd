"""CSV of bookmarks, RFC 4180: a first line that names the columns, of which only ``url`` must be there."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

from bookmarks.models import Bookmark
from usergroups.json_lines import MAX_LINE

from .records import Record, Unreadable, timestamp

COLUMNS = ["url", "title", "collection", "created_at"]


def read(file: BinaryIO) -> Iterator[Record | Unreadable]:
    text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield from _records(text)
    finally:
        # Leave it to the opener to close the file. If the import stopped early, it may be closed by now.
        with suppress(ValueError):
            text.detach()


def _records(text: io.TextIOWrapper) -> Iterator[Record | Unreadable]:
    reader = csv.reader(iter(lambda: text.readline(MAX_LINE), ""))
    names: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            yield Unreadable(line, f"Not CSV: {error}.")
            continue
        if names and row:
            get = dict(zip(names, row, strict=False)).get
            yield Record(line, get("url"), get("title", ""), get("collection") or None, get("created_at") or None)
        elif row:
            names = [name.strip().casefold() for name in row]
            if "url" not in names:
                yield Unreadable(line, "The first line names no column url, so that no bookmark can be read.")
                break


def write(bookmarks: Iterable[Bookmark]) -> Iterator[str]:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for bookmark in bookmarks:
        collection = bookmark.collection.name if bookmark.collection else ""
        writer.writerow([bookmark.url, bookmark.title, collection, timestamp(bookmark.created_at)])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()
