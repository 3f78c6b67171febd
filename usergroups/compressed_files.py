"""Read files from start to end, decompress those that are compressed with gzip, and survive damaged ones."""

import io
import re
import time
import zlib
from collections.abc import Callable, Iterator
from gzip import BadGzipFile, GzipFile
from typing import Any, Protocol

from django.utils.translation import gettext as _

GZIP = b"\x1f\x8b"

BINARY = re.compile(
    rb"PK\x03\x04|BZh[1-9]1AY&SY|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf\x27\x1c|Rar!\x1a|SQLite format 3\0|mozLz40\0"
    rb"|bplist00|%PDF-"
)
"""How archives, databases and other binary files begin, such as those in which browsers keep bookmarks."""

BEGINNING = 16  # bytes, enough for the expressions above
BLOCK = 64 * 1024  # bytes


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class DecompressedFile(io.BufferedReader):
    """The content of a file, decompressed if it is in gzip's format, in constant memory.

    ``file`` is only read forward, so it may be a pipe. If an error occurs, if there are more than ``limit`` bytes, or
    ``seconds`` after it was opened, the content ends with the last whole line before that, and ``error`` is the reason.
    """

    def __init__(self, file: Readable, limit: int | None = None, seconds: float | None = None) -> None:
        self.content = _Content(file, limit, seconds)
        super().__init__(self.content, BLOCK)

    @property
    def error(self) -> str | None:
        return self.content.error


class _Unreadable(Exception):
    pass


class _Content(io.RawIOBase):
    def __init__(self, file: Readable, limit: int | None, seconds: float | None) -> None:
        self.file, self.limit = file, limit
        self.end = None if seconds is None else time.monotonic() + seconds
        self.blocks = self._blocks()
        self.block = memoryview(b"")
        self.error: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.block = self.block or memoryview(next(self.blocks, b""))
        size = min(len(buffer), len(self.block))
        buffer[:size], self.block = self.block[:size], self.block[size:]
        return size

    def _blocks(self) -> Iterator[bytes]:
        """Yield the content in blocks that end at the end of a line, unless a line is longer than a block."""
        beginning_of_line = b""
        try:
            for data in self._pieces():
                end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 or len(data)
                yield beginning_of_line + data[:end]
                beginning_of_line = data[end:]
        except EOFError:
            self.error = _("The compressed file ends too early.")
        except (BadGzipFile, zlib.error):
            self.error = _("The compressed file is damaged. What was read of it may contain errors.")
        except OSError as error:
            self.error = _("The file cannot be read: %(reason)s.") % {"reason": error.strerror or error}
        except _Unreadable as error:
            self.error = str(error)
        else:
            yield beginning_of_line

    def _pieces(self) -> Iterator[bytes]:
        """Yield the content. Raises _Unreadable, or an error of the file or of gzip."""
        read, size = self._open(), 0
        while data := read(BLOCK):
            size += len(data)
            if self.limit is not None and size > self.limit:
                yield data[: self.limit - size]
                text = _("The file is larger than %(max)s bytes when it is decompressed.")
                raise _Unreadable(text % {"max": self.limit})
            if self.end is not None and time.monotonic() > self.end:
                raise _Unreadable(_("The file takes too long to read."))
            yield data

    def _open(self) -> Callable[[int], bytes]:
        """Return a function that reads a piece of the content."""
        file: Any = _Beginning(self.file)  # typeshed asks for methods that GzipFile does not need
        if BINARY.match(file.beginning):
            raise _Unreadable(_("The file is an archive or another binary file. Only text and gzip can be read."))
        return GzipFile(fileobj=file, mode="rb").read1 if file.beginning.startswith(GZIP) else file.read


class _Beginning:
    """A file whose first bytes are known before they are read."""

    def __init__(self, file: Readable) -> None:
        self.file, self.beginning = file, b""
        while len(self.beginning) < BEGINNING and (data := file.read(BEGINNING - len(self.beginning))):
            self.beginning += data
        self.unread = self.beginning

    def read(self, size: int) -> bytes:
        data, self.unread = self.unread[:size], self.unread[size:]
        return data or self.file.read(size)
