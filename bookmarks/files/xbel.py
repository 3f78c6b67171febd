"""Bookmarks as XBEL, which Konqueror, Falkon, Floccus and others write.

It is read by the tokens of HTML, which are those of XML as well. Thus no entity
of a file is expanded, and an error does not hide what follows.
"""

import re
from collections.abc import Iterator
from typing import TextIO

from .fields import ObjectReader
from .folder_paths import path_in_folder
from .html_tokenizer import attributes, decode_text, tokens
from .problems import Problem, UnreadableFile, gettext_noop
from .records import CollectionRecord, FileRecord, JsonValue

MAX_DEPTH = 250  # of folders, whose paths take memory
MAX_TEXT_LENGTH = 64 * 1024  # characters of a title or a description

# The ends of the elements with the texts of a bookmark, and the names of these.
TEXTS = {"/title": "title", "/desc": "description"}
# The text begins and ends at these tags.
TEXT_TAGS = {"title", "desc", *TEXTS}


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield a record for each bookmark and for each empty folder.

    Raises UnreadableFile if the file is not complete, or nested too deep.
    """
    objects = ObjectReader()
    # The collections of the open folders, from the outside.
    collections = [""]
    # Whether nothing has been read in the innermost folder.
    is_empty = False
    # The values of the open bookmark, and the number of its line.
    bookmark: dict[str, JsonValue] = {}
    first_line = 0
    for line, name, tag, written in _tags(text):
        if name in ("bookmark", "/bookmark") and bookmark:
            yield objects.record(first_line, bookmark)
            bookmark = {}
        if name == "bookmark":
            is_empty = False
            first_line = line
            values = attributes(tag)
            url = values.pop("href", "")
            bookmark = {**values, "url": url, "collection": collections[-1] or None}
        elif name in TEXTS and bookmark:
            bookmark[TEXTS[name]] = written
        elif name == "folder":
            collections.append(collections[-1])
            is_empty = True
        elif name == "/title" and len(collections) > 1 and written:
            collections[-1] = path_in_folder(collections[-2], written)
        elif name == "/folder" and len(collections) > 1:
            collection = collections.pop()
            if is_empty and collection:
                yield CollectionRecord(line, collection)
            is_empty = False
        if len(collections) > MAX_DEPTH:
            raise UnreadableFile(gettext_noop("The folders are nested too deep."))


def _tags(text: TextIO) -> Iterator[tuple[int, str, re.Match[str], str]]:
    """Yield the number of the line of each tag, its name, with "/" before it at
    the end of an element, its match, and the text before it, which is decoded at
    the end of a title or a description.
    """
    name = ""
    written = ""
    for line, token in tokens(text):
        if isinstance(token, Problem):
            raise UnreadableFile(token)
        if isinstance(token, str):
            written += token[: MAX_TEXT_LENGTH - len(written)]
            continue
        name = token["slash"] + token["tag"].lower()
        if name in TEXTS:
            written = decode_text(written).strip()
        yield line, name, token, written
        if token["attributes"].endswith("/"):
            yield line, f"/{name}", token, ""
        if name in TEXT_TAGS:
            written = ""
    if name != "/xbel":
        raise UnreadableFile(gettext_noop("The file ends without </xbel>."))
