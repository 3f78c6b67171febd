"""The content of a file of any size, from start to end: decompress it, decode it, and split it into lines.

Encodings have the labels of the WHATWG's Encoding Standard, https://encoding.spec.whatwg.org/, and Python's codecs.
"""

import codecs
import io
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from gzip import BadGzipFile, GzipFile
from typing import Any, BinaryIO

import webencodings
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

    def close(self) -> None:
        """Let go of the file, which need not have been read to its end."""
        self.chunks.close()
        super().close()

    def _whole_lines(self, chunks: Iterator[bytes]) -> Generator[bytes]:
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


# Encodings

MAX_LINE = 1024 * 1024  # characters of a line of JSON Lines, or of a row of CSV

BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""The codec for each byte order mark, which also removes the mark."""

UNUSABLE = ("replacement", "x-user-defined")
"""The names of encodings that the standard defines, but that do not decode text."""

DECLARATION = re.compile(
    r"""
    <!--(?:-?>|.*?-->|.*)
    | <[!?/][^>]*>
    | <meta[\s/][^>]*?charset\s*=\s*["']?\s*(?P<meta>[^\s"'/>;]+)(?=[^>]*>)
    """,
    re.ASCII | re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
"""Matches a tag that declares the encoding of an HTML file. Also matches comments and the like, to skip them."""


def encoding_name(label: str) -> str:
    """Return the name of the encoding with this label. Raises ValueError if it is unknown or not for text."""
    encoding = webencodings.lookup(label)
    if encoding is None or encoding.name in UNUSABLE:
        raise ValueError(_("%(label)s is not the name of an encoding of text.") % {"label": label})
    return str(encoding.name)


def declared_in_html(beginning: bytes) -> str | None:
    """Return the name of the encoding that the beginning of an HTML file declares, or None."""
    for found in DECLARATION.finditer(beginning.decode("latin-1")):
        with suppress(ValueError):
            if label := found["meta"]:
                name = encoding_name(label)
                # The declaration has been read as ASCII, so the file is not in UTF-16, whatever it says.
                return "utf-8" if name in ("utf-16le", "utf-16be") else name
    return None


def open_text(file: BinaryIO, encoding: str | None = None, is_html: bool = False) -> io.TextIOWrapper:
    """Return the text of a file, without its byte order mark. Line endings are kept, except in HTML.

    The encoding is that of the byte order mark, or else the one with the name ``encoding``, or else the one that the
    first 1,024 bytes of HTML declare, or else UTF-8.

    Bytes that cannot be decoded become lone surrogates, so that their records can be refused. ``file`` must be
    buffered, need not be seekable, and is closed with the text.
    """
    stream = io.BufferedReader(file, CHUNK_SIZE)  # type: ignore[type-var]
    beginning = stream.peek()[:1024]
    name = encoding or (declared_in_html(beginning) if is_html else None) or "utf-8"
    codec = "gb18030" if name == "gbk" else webencodings.lookup(name).codec_info.name  # as in the standard
    codec = next((bom_codec for mark, bom_codec in BYTE_ORDER_MARKS.items() if beginning.startswith(mark)), codec)
    newline = None if is_html else ""  # Browsers replace CR and CR LF by LF.
    return io.TextIOWrapper(stream, codec, errors=UNDECODABLE, newline=newline)


UNDECODABLE = "bookmarks.undecodable"
"""The name of an error handler. ``surrogateescape`` fails for ASCII bytes, which can be invalid in some encodings."""

codecs.register_error(UNDECODABLE, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


def read_lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a text with their ends. Of a line longer than MAX_LINE, yield only MAX_LINE + 1 characters."""
    while line := text.readline(MAX_LINE + 1):
        yield line
        while len(line) >= MAX_LINE and not line.endswith(("\r", "\n")):
            line = text.readline(MAX_LINE)
