"""Read the content of a file of any size from start to end: decompress it, and stop at damage."""

import io
import re
import zlib
from collections.abc import Iterator
from gzip import BadGzipFile, GzipFile
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from usergroups.contract.requests import CHUNK_SIZE

MAX_LINE_SIZE = 4 * 1024 * 1024  # bytes; the readers of CSV and JSON Lines refuse longer lines

BINARY = re.compile(
    rb"PK\x03\x04|BZh[1-9]1AY&SY|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf\x27\x1c|Rar!\x1a|SQLite format 3\0|mozLz40\0"
    rb"|bplist00|%PDF-"
)
"""How archives, databases and other binary files begin, such as those in which browsers keep bookmarks."""


class UnreadableFile(Exception):
    """The rest of a file cannot be read. The argument is the reason."""


class DecompressedFile(io.RawIOBase):
    """The content of a file, decompressed if it is in gzip's format, in constant memory.

    ``file`` is only read forward, so it may be a pipe. If an error occurs, or if there are more than ``limit`` bytes,
    the content ends with the last whole line before that, and ``error`` is the reason.
    """

    def __init__(self, file: BinaryIO, limit: int | None = None) -> None:
        self.chunks = self._whole_lines(_decompress(file, limit))
        self.chunk = memoryview(b"")
        self.error: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.chunk = self.chunk or memoryview(next(self.chunks, b""))
        size = min(len(buffer), len(self.chunk))
        buffer[:size], self.chunk = self.chunk[:size], self.chunk[size:]
        return size

    def _whole_lines(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield whole lines, or parts of lines over MAX_LINE_SIZE. An error drops the line that it interrupts."""
        beginning_of_line = bytearray()
        try:
            for data in chunks:
                end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
                if end or len(beginning_of_line) > MAX_LINE_SIZE:
                    yield bytes(beginning_of_line) + data[:end]
                    beginning_of_line.clear()
                beginning_of_line += data[end:]
            yield bytes(beginning_of_line)
        except EOFError:
            self.error = _("The compressed file ends too early.")
        except (BadGzipFile, zlib.error):
            self.error = _("The compressed file is damaged. What was read of it may contain errors.")
        except OSError as error:
            self.error = _("The file cannot be read: %(reason)s.") % {"reason": error.strerror or error}
        except UnreadableFile as error:
            self.error = str(error)


def _decompress(file: BinaryIO, limit: int | None) -> Iterator[bytes]:
    """Yield the content of a file. Raises UnreadableFile, or an error of the file or of gzip."""
    source: Any = io.BufferedReader(file, CHUNK_SIZE)
    size = 0
    try:
        beginning = source.peek()
        if BINARY.match(beginning):
            raise UnreadableFile(_("The file is an archive or another binary file. Only text and gzip can be read."))
        content = GzipFile(fileobj=source, mode="rb") if beginning.startswith(b"\x1f\x8b") else source
        while data := content.read1(CHUNK_SIZE):
            size += len(data)
            if limit is not None and size > limit:
                yield data[: limit - size]  # without the bytes over the limit
                problem = _("The file is larger than %(max)s bytes when it is decompressed.")
                raise UnreadableFile(problem % {"max": limit})
            yield data
    finally:
        source.detach()  # Otherwise it would close the file.
