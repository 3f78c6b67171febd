"""Decompress files of any size in constant memory."""

import io
import re
import zlib
from collections.abc import Generator, Iterator
from gzip import BadGzipFile, GzipFile
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from usergroups.api.bodies import CHUNK_SIZE

# In bytes. Longer lines are not kept whole, because the readers of CSV and
# JSON Lines refuse them.
MAX_LINE_SIZE = 4 * 1024 * 1024

# How binary files begin, such as those in which browsers keep bookmarks.
BINARY_MAGIC = re.compile(
    rb"""
    PK\x03\x04              # ZIP
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


class UnreadableFile(Exception):
    """The rest of a file cannot be read. The argument is the reason."""


class DecompressedFile(io.RawIOBase):
    """The content of a file, decompressed if it is in gzip's format.

    ``file`` is only read forward, so it may be a pipe.

    If an error occurs, or if there are more than ``limit`` bytes, the content
    ends with the last whole line before that. ``error`` is then the reason.
    """

    def __init__(self, file: BinaryIO, limit: int | None = None) -> None:
        self.chunks = self._whole_lines(_decompressed_chunks(file, limit))
        # The part of the last chunk that has not been read yet.
        self.chunk = memoryview(b"")
        # Why the content ends too early, or None.
        self.error: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.chunk:
            self.chunk = memoryview(next(self.chunks, b""))
        size = min(len(buffer), len(self.chunk))
        buffer[:size] = self.chunk[:size]
        self.chunk = self.chunk[size:]
        return size

    def close(self) -> None:
        """Let go of the file, which need not have been read to its end."""
        self.chunks.close()
        super().close()

    def _whole_lines(self, chunks: Iterator[bytes]) -> Generator[bytes]:
        """Yield the same bytes in chunks that end at the end of a line.

        A line longer than MAX_LINE_SIZE is divided. An error drops the line
        that it interrupts.
        """
        beginning_of_line = bytearray()
        try:
            for chunk in chunks:
                end_of_line = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
                if end_of_line or len(beginning_of_line) > MAX_LINE_SIZE:
                    yield bytes(beginning_of_line) + chunk[:end_of_line]
                    beginning_of_line.clear()
                beginning_of_line += chunk[end_of_line:]
            yield bytes(beginning_of_line)
        except EOFError:
            self.error = _("The compressed file ends too early.")
        except (BadGzipFile, zlib.error):
            self.error = _(
                "The compressed file is damaged. What was read of it may contain "
                "errors."
            )
        except OSError as error:
            reason = error.strerror or error
            self.error = _("The file cannot be read: %(reason)s.") % {"reason": reason}
        except UnreadableFile as error:
            self.error = str(error)


def _decompressed_chunks(file: BinaryIO, limit: int | None) -> Iterator[bytes]:
    """Yield the content of a file, but not more than ``limit`` bytes.

    Raises UnreadableFile if the content is larger or binary, or an error of
    the file or of gzip.
    """
    source: Any = io.BufferedReader(file, CHUNK_SIZE)
    content = source
    size = 0
    try:
        beginning = source.peek()
        if BINARY_MAGIC.match(beginning):
            problem = _(
                "The file is an archive or another binary file. Only text and gzip can "
                "be read."
            )
            raise UnreadableFile(problem)
        is_gzip = beginning.startswith(b"\x1f\x8b")
        if is_gzip:
            content = GzipFile(fileobj=source, mode="rb")
        while chunk := content.read1(CHUNK_SIZE):
            size += len(chunk)
            if limit is not None and size > limit:
                # Omit the bytes over the limit.
                yield chunk[: limit - size]
                problem = _(
                    "The file is larger than %(max)s bytes when it is decompressed."
                )
                raise UnreadableFile(problem % {"max": limit})
            yield chunk
    finally:
        # Otherwise the file would be closed together with its reader.
        source.detach()
