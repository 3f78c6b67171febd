"""Read and write tags in one text, as CSV and HTML have them."""

import json
from collections.abc import Iterable
from contextlib import suppress

from .programs import DIIGO_NO_TAGS
from .records import JsonValue


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

    The text may also be a list in JSON, which is decoded, or in Python, as
    Readwise writes it.
    """
    if text == DIIGO_NO_TAGS:
        return []
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            decoded: JsonValue = json.loads(text)
            return decoded
        text = text.strip("[]")
    # A text without any of them is one tag.
    separator = next((each for each in ",|;" if each in text), ",")
    return [tag.strip().strip("\"'") for tag in text.split(separator)]
