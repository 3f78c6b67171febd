"""Bookmarks as JSON Lines: an object with a ``url`` and any other FIELDS on each line."""

import json
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from bookmarks.models import Bookmark, Collection
from usergroups import json_lines

from .records import CollectionRecord, FileRecord, InvalidRecord, Record, to_dict, to_dict_with_owner


def read(file: BinaryIO, encoding: str | None = None) -> Iterator[FileRecord]:
    """Yield a record for each line, or an InvalidRecord if it is not a JSON object."""
    for line, value in json_lines.read(file):
        if isinstance(value, ValueError):
            yield InvalidRecord(line, str(value))
        elif value.keys() == {"collection"}:
            yield CollectionRecord(line, value["collection"])
        else:
            yield Record.from_mapping(line, value)


def write(bookmarks: Iterable[Bookmark | Collection], with_owner: bool = False) -> Iterator[str]:
    """Yield the lines of the file, optionally with the OWNER_FIELDS."""
    convert = to_dict_with_owner if with_owner else to_dict
    for bookmark in bookmarks:
        yield json.dumps(convert(bookmark), ensure_ascii=False) + "\n"
