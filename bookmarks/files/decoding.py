"""Decode the text of a file, and split it into lines or chunks.

Encodings have the labels of the WHATWG's Encoding Standard,
https://encoding.spec.whatwg.org/, and are decoded by Python's codecs.
"""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import IO, AnyStr, BinaryIO, TextIO

import webencodings

from .problems import gettext_noop

CHUNK_SIZE = 64 * 1024

# In characters: of a line of JSON Lines, or of a row of CSV.
MAX_LINE = 1024 * 1024

UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# Encodings that the standard defines, but that do not decode text.
NOT_FOR_TEXT = ("replacement", "x-user-defined")

# Matches the declaration of the encoding of an HTML or XML file.
DECLARATION = re.compile(
    r"""
    < (?: meta[\s/][^>]*?charset | \?xml\s[^>]*?encoding )
    \s*=\s* ["']? \s* (?P<label>[^\s"'/>;]+) [^>]*>
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)

# The name of an error handler that replaces what cannot be decoded by a lone
# surrogate. Python's own handler "surrogateescape" fails for ASCII bytes,
# which can be invalid in some encodings.
UNDECODABLE = "bookmarks.undecodable"

codecs.register_error(
    UNDECODABLE,
    lambda error: ("\udcff", error.end),  # type: ignore[attr-defined]
)


def encoding_name(label: str) -> str:
    """Return the name of Python's codec for the encoding with this label.

    Raises ValueError if the label is unknown, or if its encoding is not for
    text.
    """
    encoding = webencodings.lookup(label)
    if encoding is None or encoding.name in NOT_FOR_TEXT:
        problem = gettext_noop(
            "%(label)s is not the name of an encoding of text.", label=label
        )
        raise ValueError(problem)
    if encoding.name == "gbk":
        # The standard decodes GBK with the decoder of its superset GB 18030.
        return "gb18030"
    return str(encoding.codec_info.name)


def declared_encoding(beginning: bytes) -> str | None:
    """Return the name of the first known encoding that a file declares, or
    None.
    """
    for declaration in DECLARATION.finditer(beginning.decode("latin-1")):
        with suppress(ValueError):
            name = encoding_name(declaration["label"])
            # The declaration has been read as ASCII, so the file is not in
            # UTF-16, whatever it says.
            return "utf-8" if name.startswith("utf-16") else name
    return None


def open_text(
    file: BinaryIO, encoding: str | None = None, file_format: str = ""
) -> io.TextIOWrapper:
    """Return the text of a file, without its byte order mark.

    The encoding is, in this order, that of the byte order mark, the one with
    the name ``encoding``, the one that the first 1,024 bytes of HTML or XML
    declare, or UTF-8. Bytes that cannot be decoded become lone surrogates, so that
    their records can be refused. Line endings are kept, except in HTML.

    ``file`` is closed with the text, which is seekable if the file is.
    """
    stream = io.BufferedReader(file, CHUNK_SIZE)  # type: ignore[type-var]
    beginning = stream.peek()[:1024]
    if encoding is None and file_format in ("html", "xbel"):
        encoding = declared_encoding(beginning)
    if beginning.startswith(UTF_16_MARKS):
        encoding = "utf-16"
    elif encoding is None or beginning.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    # In HTML, replace CR and CR LF by LF, as browsers do.
    newline = None if file_format == "html" else ""
    return io.TextIOWrapper(stream, encoding, errors=UNDECODABLE, newline=newline)


def read_lines(text: TextIO) -> Iterator[str]:
    """Yield the lines of a text with their ends.

    Of a line longer than MAX_LINE, yield only MAX_LINE + 1 characters.
    """
    while line := text.readline(MAX_LINE + 1):
        yield line
        # Skip the rest of a longer line.
        while len(line) >= MAX_LINE and not line.endswith(("\r", "\n")):
            line = text.readline(MAX_LINE)


def read_chunks(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """Return an iterator over chunks of a file, none of which is empty."""
    return iter(partial(file.read, CHUNK_SIZE), file.read(0))
