"""Files of any size: those that are read from start to end, also compressed or damaged ones, and downloads."""

import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from gzip import BadGzipFile, GzipFile
from os import SEEK_END
from tempfile import TemporaryFile
from typing import Any, Protocol

from django.conf import settings
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException

from .requests import CHUNK_SIZE

GZIP = b"\x1f\x8b"

BINARY = re.compile(
    rb"PK\x03\x04|BZh[1-9]1AY&SY|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf\x27\x1c|Rar!\x1a|SQLite format 3\0|mozLz40\0"
    rb"|bplist00|%PDF-"
)
"""How archives, databases and other binary files begin, such as those in which browsers keep bookmarks."""

BEGINNING = 16  # bytes, enough for the expressions above


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class PeekableFile(io.RawIOBase):
    """A file whose first bytes are known before they are read. The file is only read forward."""

    def __init__(self, file: Readable, size: int) -> None:
        self.file, self.beginning = file, b""
        while len(self.beginning) < size and (data := file.read(size - len(self.beginning))):
            self.beginning += data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.beginning[: len(buffer)] or self.file.read(len(buffer))
        self.beginning = self.beginning[len(data) :]
        buffer[: len(data)] = data
        return len(data)


class DecompressedFile(io.RawIOBase):
    """The content of a file, decompressed if it is in gzip's format, in constant memory.

    ``file`` is only read forward, so it may be a pipe. If an error occurs, or if there are more than ``limit`` bytes,
    the content ends with the last whole line before that, and ``error`` is the reason.
    """

    def __init__(self, file: Readable, limit: int | None = None) -> None:
        self.blocks = self._blocks(file, limit)
        self.block = memoryview(b"")
        self.error: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.block = self.block or memoryview(next(self.blocks, b""))
        size = min(len(buffer), len(self.block))
        buffer[:size], self.block = self.block[:size], self.block[size:]
        return size

    def _blocks(self, file: Readable, limit: int | None) -> Iterator[bytes]:
        """Yield the content in blocks that end at the end of a line, unless a line is longer than a block."""
        beginning_of_line = b""
        try:
            for data in _pieces(file, limit):
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


class _Unreadable(Exception):
    pass


def _pieces(file: Readable, limit: int | None) -> Iterator[bytes]:
    """Yield the content of a file. Raises _Unreadable, or an error of the file or of gzip."""
    source: Any = PeekableFile(file, BEGINNING)  # typeshed asks for methods that GzipFile does not need
    if BINARY.match(source.beginning):
        raise _Unreadable(_("The file is an archive or another binary file. Only text and gzip can be read."))
    read = GzipFile(fileobj=source, mode="rb").read1 if source.beginning.startswith(GZIP) else source.read
    size = 0
    while data := read(CHUNK_SIZE):
        size += len(data)
        if limit is not None and size > limit:
            yield data[: limit - size]
            raise _Unreadable(_("The file is larger than %(max)s bytes when it is decompressed.") % {"max": limit})
        yield data


class StorageUnavailable(APIException):
    status_code = 503
    default_code = "service_unavailable"
    default_detail = "The server cannot store the file. Try again later."
    wait = 60  # seconds


def download(pieces: Iterable[bytes], while_sent: AbstractContextManager[Any], **options: Any) -> StreamingHttpResponse:
    """Return a response with the pieces, which are written to a temporary file before it begins.

    An error in their source is therefore an error response, a slow client does not keep the source open, and a client
    sees by the Content-Length that a download has broken off. ``while_sent`` is entered until the response is closed,
    and ``options`` are those of the response. Raises StorageUnavailable if the disk is full, for example.
    """
    blocks = _blocks(pieces, while_sent)
    size = next(blocks)
    response = StreamingHttpResponse(blocks, **options)
    response["Content-Length"] = size
    return response


def _blocks(pieces: Iterable[bytes], while_sent: AbstractContextManager[Any]) -> Iterator[Any]:
    """Yield the size of the file, and then its blocks. Raises StorageUnavailable."""
    try:
        with while_sent, TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as file:
            file.writelines(pieces)
            yield file.seek(0, SEEK_END)
            file.seek(0)
            yield from iter(partial(file.read, CHUNK_SIZE), b"")
    except OSError as error:
        raise StorageUnavailable from error
