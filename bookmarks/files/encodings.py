"""Decode files as browsers do, by the Encoding Standard of the WHATWG.

https://encoding.spec.whatwg.org/
"""

import codecs
import io
from collections.abc import Callable
from typing import BinaryIO

import webencodings
from django.utils.translation import gettext as _

BEGINNING = 1024  # bytes, in which a file declares its encoding
BUFFER_SIZE = 64 * 1024

BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16le", codecs.BOM_UTF16_BE: "utf-16be"}

ERRORS = "bookmarks.browser"
"""How bytes are decoded that Python's codecs refuse."""

UNUSABLE = ("replacement", "x-user-defined")
"""Encodings of the standard that stand for no text."""


def lookup(label: str) -> str:
    """Return the name of the encoding with this label. Raises ValueError if it is unknown or stands for no text."""
    encoding = webencodings.lookup(label) if label.isascii() else None
    if encoding is None or encoding.name in UNUSABLE:
        raise ValueError(_("%(label)s is not the name of an encoding of text.") % {"label": label})
    return str(encoding.name)


def open_text(
    file: BinaryIO, encoding: str | None = None, declared: Callable[[bytes], str | None] | None = None
) -> io.TextIOWrapper:
    """Return the text of a file, without its byte order mark and with its own line endings.

    The encoding is that of the byte order mark, or else the one with the label ``encoding``, or else the name that
    ``declared`` finds in the first 1,024 bytes, or else UTF-8, or UTF-16 if the first character takes two bytes. Raises
    ValueError if the label is unknown.

    Bytes that are not UTF-8 become lone surrogates, so that their records can be refused. In other encodings, U+FFFD
    replaces invalid bytes. ``file`` need not be seekable, and stays open.
    """
    given = lookup(encoding) if encoding else None
    beginning = b""
    while len(beginning) < BEGINNING and (more := file.read(BEGINNING - len(beginning))):
        beginning += more
    name = given or (declared(beginning) if declared else None) or "utf-8"
    if name == "utf-8" and 0 in beginning[:2]:
        name = "utf-16be" if beginning.startswith(b"\0") else "utf-16le"
    for mark, marked_name in BYTE_ORDER_MARKS.items():
        if beginning.startswith(mark):
            name, beginning = marked_name, beginning.removeprefix(mark)
    stream = io.BufferedReader(_Replayed(beginning, file), BUFFER_SIZE)
    errors = "surrogateescape" if name == "utf-8" else ERRORS
    return io.TextIOWrapper(stream, codec(name), errors=errors, newline="")


def codec(name: str) -> str:
    """Return the name of Python's codec for an encoding of the standard."""
    return "gb18030" if name == "gbk" else str(webencodings.lookup(name).codec_info.name)


class _Replayed(io.RawIOBase):
    """A file that begins with bytes that have already been read from another one."""

    def __init__(self, beginning: bytes, file: BinaryIO) -> None:
        self.beginning, self.file = beginning, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.beginning[: len(buffer)] or self.file.read(len(buffer))
        self.beginning = self.beginning[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _decode_as_browsers(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that Python's codecs refuse and the standard does not. Others become U+FFFD."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    byte, following = error.object[error.start], error.object[error.start + 1 : error.start + 2]
    if error.encoding == "charmap" and byte < 0xA0:
        return chr(byte), error.start + 1
    if error.encoding == "gb18030" and byte == 0x80:
        return "€", error.start + 1
    if error.encoding == "euc_jp" and byte in EXTENSIONS_OF_EUC_JP and following >= b"\xa1":
        row, cell = byte - 0xA1, following[0] - 0xA1
        lead, trail = row // 2 + (0x81 if row < 62 else 0xC1), cell + (0x9F if row % 2 else 0x40 + (cell >= 63))
        return bytes([lead, trail]).decode("cp932", "replace"), error.start + 2
    return "\ufffd", error.end


EXTENSIONS_OF_EUC_JP = (0xAD, 0xF9, 0xFA, 0xFB, 0xFC)
"""The rows of NEC and IBM, which Python has only in its codec of Shift_JIS."""

codecs.register_error(ERRORS, _decode_as_browsers)
