"""Find the encoding that an HTML file declares.

https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding
"""

import re
from contextlib import suppress

from .encodings import lookup
from .html_tokenizer import BEGINNING_OF_COMMENT, BEGINNING_OF_TAG, TAG, attributes

XML_DECLARATION = re.compile(r"""<\?xml[^>]*?encoding[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^">]*)"|'([^'>]*)')""")
CHARSET = re.compile(
    r"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^"'\t\n\f\r ;][^\t\n\f\r ;]*))""", re.IGNORECASE
)


def declared_encoding(beginning: bytes) -> str | None:
    """Return the name of the encoding that the beginning of a file declares, or None."""
    text = beginning.decode("latin-1")
    position = text.find("<")
    while position != -1:
        if text.startswith("<!--", position):
            position = text.find("-->", position + len("<!"))
        elif tag := TAG.match(text, position):
            if tag["tag"].lower() == "meta" and not tag["slash"] and (name := _of_meta(attributes(tag))):
                return name
            position = tag.end() - 1
        elif BEGINNING_OF_TAG.match(text, position):
            break
        elif BEGINNING_OF_COMMENT.match(text, position):
            position = text.find(">", position)
        position = text.find("<", position + 1) if position != -1 else -1
    declaration = XML_DECLARATION.match(text)
    return _name(declaration[1] or declaration[2] or "") if declaration else None


def _of_meta(values: dict[str, str]) -> str | None:
    label = values.get("charset")
    if label is None and values.get("http-equiv", "").lower() == "content-type":
        charset = CHARSET.search(values.get("content", ""))
        label = next(filter(None, charset.groups()), None) if charset else None
    return _name(label) if label is not None else None


def _name(label: str) -> str | None:
    name = None
    with suppress(ValueError):
        name = "windows-1252" if label.strip().lower() == "x-user-defined" else lookup(label)
    # The declaration has been read as ASCII, so the file is not in UTF-16, whatever it says.
    return "utf-8" if name in ("utf-16le", "utf-16be") else name
