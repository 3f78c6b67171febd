"""JSON Lines of bookmarks: ``url``, and perhaps ``title``, ``collection`` (a name or null) and ``created_at``."""

import json
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from bookmarks.models import Bookmark
from usergroups import json_lines

from .records import Record, Unreadable, timestamp


def read(file: BinaryIO) -> Iterator[Record | Unreadable]:
    for line, value in json_lines.read(file):
        if isinstance(value, ValueError):
            yield Unreadable(line, str(value))
        else:
            get = value.get
            yield Record(line, get("url"), get("title", ""), get("collection"), get("created_at"))


def write(bookmarks: Iterable[Bookmark]) -> Iterator[str]:
    for bookmark in bookmarks:
        value = {
            "url": bookmark.url,
            "title": bookmark.title,
            "collection": bookmark.collection and bookmark.collection.name,
            "created_at": timestamp(bookmark.created_at),
        }
        yield json.dumps(value, ensure_ascii=False) + "\n"
