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
from typing import BinaryIO, TextIO

import webencodings

from .problems import Problem, gettext_noop

CHUNK_SIZE = 64 * 1024

# In characters: of a line of JSON Lines, or of a row of CSV.
MAX_LINE = 1024 * 1024

# The codec for each byte order mark. It also removes the mark.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# Encodings that the standard defines, but that do not decode text.
NOT_FOR_TEXT = ("replacement", "x-user-defined")

# Matches a tag that declares the encoding of an HTML file. Also matches
# comments and the like, so that a declaration in them does not count.
DECLARATION = re.compile(
    r"""
    <!--(?: -?> | .*?--> | .* )     # a comment, which may be empty or open
    | <[!?/][^>]*>                  # a document type or a closing tag
    | <meta[\s/]
        [^>]*?charset\s*=\s*["']?\s*
        (?P<label>[^\s"'/>;]+)
        (?=[^>]*>)
    """,
    re.ASCII | re.DOTALL | re.IGNORECASE | re.VERBOSE,
)

# Matches the declaration of an XML file.
XML_DECLARATION = re.compile(
    r"""\s*<\?xml[^>]*\sencoding\s*=\s*["'](?P<label>[^"'>]+)"""
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
    """Return the name of the encoding with this label.

    Raises ValueError if the label is unknown, or if its encoding is not for
    text.
    """
    encoding = webencodings.lookup(label)
    if encoding is None or encoding.name in NOT_FOR_TEXT:
        problem = gettext_noop("%(label)s is not the name of an encoding of text.")
        raise ValueError(Problem(problem, label=label))
    return str(encoding.name)


# What declares the encoding of a file, by its format.
DECLARATIONS = {"html": DECLARATION, "xbel": XML_DECLARATION}


def declared_encoding(beginning: bytes, pattern: re.Pattern[str]) -> str | None:
    """Return the encoding that the beginning of a file declares.

    Return None if it declares none that is known.
    """
    for declaration in pattern.finditer(beginning.decode("latin-1")):
        label = declaration["label"]
        if label is None:
            continue
        with suppress(ValueError):
            name = encoding_name(label)
            # The declaration has been read as ASCII, so the file is not in
            # UTF-16, whatever it says.
            if name in ("utf-16le", "utf-16be"):
                return "utf-8"
            return name
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
    if file_format in DECLARATIONS and encoding is None:
        encoding = declared_encoding(beginning, DECLARATIONS[file_format])
    codec = _codec_name(beginning, encoding or "utf-8")
    # In HTML, replace CR and CR LF by LF, as browsers do.
    newline = None if file_format == "html" else ""
    return io.TextIOWrapper(stream, codec, errors=UNDECODABLE, newline=newline)


def _codec_name(beginning: bytes, encoding: str) -> str:
    """Return the codec of a byte order mark, or else that of ``encoding``."""
    for mark, codec in BYTE_ORDER_MARKS.items():
        if beginning.startswith(mark):
            return codec
    if encoding == "gbk":
        # The standard decodes GBK with the decoder of its superset GB 18030.
        return "gb18030"
    return str(webencodings.lookup(encoding).codec_info.name)


def read_lines(text: TextIO) -> Iterator[str]:
    """Yield the lines of a text with their ends.

    Of a line longer than MAX_LINE, yield only MAX_LINE + 1 characters.
    """
    while line := text.readline(MAX_LINE + 1):
        yield line
        # Skip the rest of a longer line.
        while len(line) >= MAX_LINE and not line.endswith(("\r", "\n")):
            line = text.readline(MAX_LINE)


def read_chunks(text: TextIO) -> Iterator[str]:
    """Return an iterator over chunks of the text, none of which is empty."""
    return iter(partial(text.read, CHUNK_SIZE), "")
