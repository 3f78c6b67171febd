"""Open the content of a file, which may be in a ZIP."""

import zlib
from collections import deque
from errno import EINVAL
from typing import BinaryIO, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from .decoding import read_chunks
from .kinds import SIZE, binary_kind, refusal
from .problems import UnreadableFile, gettext_noop

MAX_ZIP_ENTRIES = 1000

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


def open_content(
    file: BinaryIO, name: str, limit: int | None = None
) -> tuple[BinaryIO, str]:
    """Return the content and the name of a file, which must be seekable.

    If the file is a ZIP, these are the content and the name of the only file
    in it, which may have up to ``limit`` bytes. Raises UnreadableFile if the
    file is binary, or a ZIP that cannot be read.
    """
    beginning = file.read(SIZE)
    file.seek(0)
    kind = binary_kind(beginning)
    if kind:
        raise UnreadableFile(refusal(kind))
    if not beginning.startswith(BEGINNING_OF_ZIP):
        return file, name
    try:
        return _unzipped(file, limit)
    except DAMAGED_ZIP_ERRORS as error:
        # A damaged ZIP may name an offset to which a file cannot seek. Other
        # errors of the system are those of the disk.
        if isinstance(error, OSError) and error.errno != EINVAL:
            raise
        problem = gettext_noop("The ZIP is damaged or encrypted.")
        raise UnreadableFile(problem) from None


def _unzipped(file: BinaryIO, limit: int | None) -> tuple[BinaryIO, str]:
    entries: list[ZipInfo] = []
    # Count the entries first, because ZipFile holds all of them in memory.
    if sum(chunk.count(ZIP_ENTRY) for chunk in read_chunks(file)) <= MAX_ZIP_ENTRIES:
        archive = ZipFile(file)
        # macOS adds files about each file.
        entries = [
            entry
            for entry in archive.infolist()
            if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
        ]
    if len(entries) != 1:
        problem = gettext_noop(
            "A ZIP must contain one file. Unpack it and import the file with the "
            "bookmarks, never the whole ZIP, because it may contain passwords."
        )
        raise UnreadableFile(problem)
    [entry] = entries
    # ZipFile reads at most ``entry.file_size`` bytes, whatever follows.
    if limit is not None and entry.file_size > limit:
        problem = gettext_noop(
            "The file in the ZIP is larger than %(max)s bytes.", max=limit
        )
        raise UnreadableFile(problem)
    # ZipFile would decompress other methods in pieces of any size.
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        # The caller reports it as a damaged ZIP.
        raise NotImplementedError
    content = cast(BinaryIO, archive.open(entry))
    # Find damage before anything is stored.
    deque(read_chunks(content), maxlen=0)
    content.seek(0)
    return content, entry.filename
