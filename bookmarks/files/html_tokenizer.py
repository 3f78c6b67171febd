"""Split HTML into tags and text, nearly as browsers do.

This takes constant memory and linear time, whatever the file contains. Where a
browser would skip much of a file, this goes on reading: what looks like a tag
within a comment, a script or a style sheet is one, so that a ``<style>`` or a
``<!--`` in a title does not hide later links.
https://html.spec.whatwg.org/multipage/parsing.html#tokenization
"""

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from typing import TextIO

from .decoding import read_chunks
from .problems import gettext_noop

MAX_TAG_LENGTH = 256 * 1024  # characters; a tag may contain an icon

# The name and the value of an attribute, as patterns with re.VERBOSE. The
# repetitions are possessive, so that a match takes linear time.
NAME = r"[^\t\n\f\r\ />][^\t\n\f\r\ />=]*+"
VALUE = r"""
    "[^"]*+"
    | '[^']*+'
    | [^\t\n\f\r\ >"'][^\t\n\f\r\ >]*+
    | (?=>)  # An empty value is the last one in its tag.
"""

# Text ends before a "<" that begins something else. A text such as "</dev/null"
# does not begin a tag, although in a browser it swallows the next one.
TOKEN = re.compile(
    rf"""
    (?P<text> (?: [^<]++ | <(?=[^a-zA-Z!?/]) | <(?=/[a-zA-Z][^<>]*+<) )++ )
    | <
      (?P<slash>/?)
      (?P<tag>[a-zA-Z][^\t\n\f\r\ />]*+)
      (?P<attributes>
          (?:
              [\t\n\f\r\ /]++
              | {NAME}
                (?:
                    [\t\n\f\r\ ]*+=[\t\n\f\r\ ]*+(?:{VALUE})
                    | (?![\t\n\f\r\ ]*+=)
                )
          )*+
      )
      >
    | <!\[CDATA\[(?P<data>[^<\]]*+)\]\]>
    # The beginning of a comment, a document type and the like, which ends at
    # the first ">" or before the next tag.
    | <(?:[!?]|/(?![a-zA-Z]))[^<>]*+(?:>|(?=<))
    """,
    re.VERBOSE,
)

ATTRIBUTE = re.compile(
    rf"""
    (?P<name>{NAME})
    (?:
        [\t\n\f\r\ ]*+=[\t\n\f\r\ ]*+(?P<value>{VALUE})
        | (?![\t\n\f\r\ ]*+=)
    )
    """,
    re.VERBOSE,
)

OLD_NAMES = "|".join(name for name in html5 if not name.endswith(";"))
# Matches "&" in an attribute where it does not begin a character reference. The
# old names, which need no semicolon, are none before "=", a letter or a digit,
# so that the URL "/?a=1&copy=2" stays as it is.
AMPERSAND = re.compile(
    rf"&(?!\#|[a-zA-Z\d]++;|(?:{OLD_NAMES})(?![a-zA-Z\d=]))", re.ASCII
)


def tokens(file: TextIO) -> Iterator[tuple[int, str | re.Match[str]]]:
    """Yield the number of the line on which each token begins, and the token: a
    run of text, a match of TOKEN that is a tag, or a Problem for what cannot be
    read.
    """
    buffer = ""
    line = 1
    for chunk in read_chunks(file):
        buffer += chunk
        end = 0
        # A token that has no match continues in the next chunk.
        while found := TOKEN.match(buffer, end):
            # the last group of the alternative that matches
            kind = found.lastgroup
            if kind == "attributes":
                yield line, found
            elif kind:
                yield line, found[kind]
            line += buffer.count("\n", end, found.end())
            end = found.end()
        buffer = buffer[end:]
        if len(buffer) > MAX_TAG_LENGTH:
            problem = gettext_noop(
                "A tag is longer than %(max)s characters.", max=MAX_TAG_LENGTH
            )
            yield line, problem
            line += buffer.count("\n")
            buffer = ""
    if re.match("</?[a-zA-Z]", buffer):
        yield line, gettext_noop("The file ends within a tag.")
    else:
        yield line, buffer


def attributes(tag: re.Match[str]) -> dict[str, str]:
    """Return the attributes of a tag, with names in lower case.

    The first of several attributes with the same name counts.
    """
    values: dict[str, str] = {}
    # VALUE recognizes an empty value by the ">".
    for attribute in ATTRIBUTE.finditer(tag["attributes"] + ">"):
        value = attribute["value"] or ""
        if value.startswith(("'", '"')):
            value = value[1:-1]
        if "&" in value:
            value = decode_text(AMPERSAND.sub("&amp;", value))
        values.setdefault(attribute["name"].lower(), value.replace("\0", "\ufffd"))
    return values


def decode_text(text: str) -> str:
    """Decode the character references in a text, such as ``&amp;``.

    A text with a number of more than 4,300 digits stays as it is.
    """
    try:
        return unescape(text)
    except ValueError:
        return text
