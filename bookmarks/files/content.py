"""Open the content of a file to import, which may be in a ZIP."""

import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from errno import EINVAL
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from django.conf import settings
from django.utils.translation import gettext as _

from usergroups.api.parsers import CHUNK_SIZE

MAX_MEMORY = 1024 * 1024  # bytes; a larger file is kept on the disk
MAX_ZIP_ENTRIES = 1000

# How binary files begin, such as those in which browsers keep bookmarks.
BINARY_MAGIC = re.compile(
    rb"""
    \x1f\x8b                # gzip
    | BZh[1-9]1AY&SY        # bzip2
    | \xfd7zXZ\0            # XZ
    | \x28\xb5\x2f\xfd      # Zstandard
    | 7z\xbc\xaf\x27\x1c    # 7-Zip
    | Rar!\x1a
    | SQLite\ format\ 3\0   # the database of Firefox
    | mozLz40\0             # a backup of Firefox
    | bplist00              # the property list of Safari
    | %PDF-
    """,
    re.VERBOSE,
)
BEGINNING_OF_ZIP = b"PK\x03\x04"
ZIP_ENTRY = b"PK\x01\x02"


DAMAGED_ZIP_ERRORS = (
    BadZipFile,
    EOFError,
    IndexError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    zlib.error,
)
"""What the module zipfile raises for a file with wrong offsets, names or data."""


class UnreadableFile(Exception):
    """The rest of a file cannot be read. The argument is the reason."""


def open_content(
    file: BinaryIO, name: str, limit: int | None = None
) -> tuple[BinaryIO, str]:
    """Return the content and the name of a file, which must be seekable.

    If the file is a ZIP, these are the content and the name of the only file
    in it, which may have up to ``limit`` bytes. Raises UnreadableFile if the
    file is binary, or a ZIP that cannot be read.
    """
    beginning = file.read(16)
    file.seek(0)
    if BINARY_MAGIC.match(beginning):
        problem = _("The file is binary. Only text, or a ZIP of it, can be read.")
        raise UnreadableFile(problem)
    if not beginning.startswith(BEGINNING_OF_ZIP):
        return file, name
    try:
        return _unzipped(file, limit)
    except DAMAGED_ZIP_ERRORS as error:
        # A damaged ZIP may name an offset to which a file cannot seek. Other
        # errors of the system are those of the disk.
        if isinstance(error, OSError) and error.errno != EINVAL:
            raise
        raise UnreadableFile(_("The ZIP is damaged or encrypted.")) from None


@contextmanager
def copied(parts: Iterable[bytes]) -> Iterator[BinaryIO]:
    """Open a temporary file with these bytes, from its beginning."""
    folder = settings.FILE_UPLOAD_TEMP_DIR
    with SpooledTemporaryFile(MAX_MEMORY, dir=folder) as file:
        file.writelines(parts)
        file.seek(0)
        yield cast(BinaryIO, file)


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """Return an iterator over the rest of a file."""
    return iter(partial(file.read, CHUNK_SIZE), b"")


def _unzipped(file: BinaryIO, limit: int | None) -> tuple[BinaryIO, str]:
    # Count the entries first, because ZipFile holds all of them in memory.
    number = sum(chunk.count(ZIP_ENTRY) for chunk in chunks(file))
    contained: list[ZipInfo] = []
    if number <= MAX_ZIP_ENTRIES:
        archive = ZipFile(file)
        # macOS adds files about each file.
        contained = [
            entry
            for entry in archive.infolist()
            if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
        ]
        number = len(contained)
    if number != 1:
        problem = _("A ZIP must contain one file, but this one contains %(number)s.")
        raise UnreadableFile(problem % {"number": number})
    [entry] = contained
    # ZipFile reads no more than this number of bytes.
    if limit is not None and entry.file_size > limit:
        problem = _("The file in the ZIP is larger than %(max)s bytes.")
        raise UnreadableFile(problem % {"max": limit})
    # ZipFile would decompress other methods in pieces of any size.
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        # The caller reports it as a damaged ZIP.
        raise NotImplementedError
    content = cast(BinaryIO, archive.open(entry))
    # Find damage before anything is stored.
    deque(chunks(content), maxlen=0)
    content.seek(0)
    return content, entry.filename
