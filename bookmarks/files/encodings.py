"""Decode files by the labels of the Encoding Standard of the WHATWG, with Python's codecs.

https://encoding.spec.whatwg.org/
"""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

import webencodings
from django.utils.translation import gettext as _

from usergroups.contract.requests import CHUNK_SIZE

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


def lookup(label: str) -> str:
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
                name = lookup(label)
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
