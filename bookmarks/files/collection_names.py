"""The names of the collections that a file's folders become."""

import re
from collections.abc import Sequence
from functools import reduce
from hashlib import sha256

from bookmarks.models import MAX_COLLECTION_NAME_LENGTH

SEPARATOR = " / "
SLASHES = re.compile(r"(?:^|(?<= ))/+(?= |$)")
"""What a separator could be mistaken for in the name of a folder."""

MAX_PATH_LENGTH = 1000  # characters
DIGEST_LENGTH = 8


def joined(folders: Sequence[str]) -> str:
    """Return the name of the collection for a path of folders, outermost first.

    Different paths have different names: in a folder's name, slashes between spaces get one more, so that the folder
    ``A / B`` becomes ``A // B``, and the folder ``B`` in ``A`` becomes ``A / B``.
    """
    return reduce(within, folders, "")


def within(path: str, folder: str) -> str:
    """Return the name for a folder in the one with the name ``path``, which is empty for the outermost.

    It is shortened to 1,000 characters, so that deeply nested folders take little memory.
    """
    folder = SLASHES.sub(r"\g<0>/", folder)
    return _shortened(path + SEPARATOR + folder if path else folder, MAX_PATH_LENGTH)


def split(name: str) -> list[str] | None:
    """Return the path of folders for which ``joined`` returns this name, or None if there is none."""
    folders = [SLASHES.sub(lambda match: match[0][1:], part) for part in name.split(SEPARATOR)]
    return folders if all(folders) and joined(folders) == name else None


def shortened(name: str) -> str:
    """Return the name, or its beginning and a digest of the whole if it is too long for a collection."""
    return _shortened(name, MAX_COLLECTION_NAME_LENGTH)


def _shortened(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:DIGEST_LENGTH]
    return f"{name[: length - DIGEST_LENGTH - 1]}~{digest}"
