"""Read and write tags in one text, as CSV and HTML have them."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress

from .programs import DIIGO_NO_TAGS
from .records import JsonValue

# A string of Python in single or double quotes, and a list of such strings, as
# Readwise writes them. The possessive quantifiers make a search take linear
# time.
PYTHON_STRING = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
PYTHON_LIST = re.compile(rf"\[(?:\s*+{PYTHON_STRING}\s*+,?+)*+\s*+\]", re.DOTALL)

# Of the escapes in such a string, only those of quotation marks and
# backslashes occur in tags.
ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def comma_list(tags: Iterable[str]) -> str:
    """Return the tags as a text in which commas separate them.

    A comma in a tag becomes a space.
    """
    distinct: dict[str, str] = {}
    for tag in tags:
        without_comma = tag.replace(",", " ").strip()
        distinct.setdefault(without_comma.lower(), without_comma)
    return ",".join(filter(None, distinct.values()))


def split_tags(text: str) -> JsonValue:
    """Return the tags that are separated by commas, or else by ``|``,
    or else by semicolons.

    The text may also be a list in JSON, which is decoded, or in Python.
    """
    if text == DIIGO_NO_TAGS:
        return []
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            decoded: JsonValue = json.loads(text)
            return decoded
        if PYTHON_LIST.fullmatch(text):
            strings = re.findall(PYTHON_STRING, text, re.DOTALL)
            return [ESCAPED.sub(r"\1", string[1:-1]) for string in strings]
        text = text.strip("[]")
    # A text without any of them is one tag.
    separator = next((each for each in ",|;" if each in text), ",")
    return [tag.strip().strip('"') for tag in text.split(separator)]
