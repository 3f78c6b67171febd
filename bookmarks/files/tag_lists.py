"""Read and write tags in one text, as CSV and HTML have them."""

import re
from collections.abc import Iterable
from contextlib import suppress

from bookmarks.tags import distinct
from usergroups.api import strict_json

from .records import JsonValue

# A string of Python in single or double quotes, and a list of such strings.
# The possessive quantifiers make a search take linear time.
PYTHON_STRING = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
PYTHON_LIST = re.compile(rf"\[(?:\s*+{PYTHON_STRING}\s*+,?+)*+\s*+\]", re.DOTALL)

# Of the escapes in such a string, only those of quotation marks and
# backslashes occur in tags.
ESCAPED = re.compile(r"\\(.)", re.DOTALL)

# What Diigo writes for a bookmark that has no tags.
NO_TAGS = "no_tag"


def comma_list(tags: Iterable[str]) -> str:
    """Return the tags as a text in which commas separate them.

    A comma in a tag becomes a space.
    """
    without_commas = (tag.replace(",", " ").strip() for tag in tags)
    return ",".join(distinct(filter(None, without_commas)))


def split_tags(text: str) -> JsonValue:
    """Return the tags that are separated by commas, or else by ``|``,
    or else by semicolons.

    The text may also be a list in JSON, which is decoded, or in Python.
    """
    if text == NO_TAGS:
        return []
    if text.startswith("["):
        with suppress(ValueError):
            decoded: JsonValue = strict_json.loads(text.encode())
            return decoded
        if PYTHON_LIST.fullmatch(text):
            strings = re.findall(PYTHON_STRING, text, re.DOTALL)
            return [ESCAPED.sub(r"\1", string[1:-1]) for string in strings]
        text = text.strip("[]")
    # A text without any of them is one tag.
    separator = next((each for each in ",|;" if each in text), ",")
    return [tag.strip().strip('"') for tag in text.split(separator)]
