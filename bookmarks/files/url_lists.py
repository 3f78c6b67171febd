"""Lists of URLs, one on each line.

A title may follow after ``|``, as OneTab writes it. Links in Markdown are read
as well, such as ``- [Title](https://example.com/)``.
"""

import re
from collections.abc import Iterator
from typing import TextIO

from .decoding import MAX_LINE, read_lines
from .problems import gettext_noop, too_long
from .records import FileRecord, InvalidRecord, Record

# The title may contain brackets, and the URL parentheses, but no others within
# them. The repetitions are possessive, so that a search takes linear time.
MARKDOWN_LINK = re.compile(
    r"""
    \[ (?P<title> (?: [^\[\]] | \[ [^\[\]]*+ \] )*+ ) \]
    \( \s*+ <? (?P<url> (?: [^\s()<>] | \( [^\s()<>]*+ \) )++ )
    """,
    re.VERBOSE,
)
# An item of a list may begin the line, and angle brackets may be around a URL.
URL = re.compile(
    r"""
    \s*+ (?: (?: [-*+] | \d++[.)] ) \s++ )? <?
    (?P<url> [a-zA-Z][a-zA-Z\d+.-]*+ :// [^\s>]*+ )
    >? \s*+ (?: \| (?P<title> .*+ ) )?
    """,
    re.VERBOSE,
)


def read(text: TextIO) -> Iterator[FileRecord]:
    """Yield a record for each link, and an InvalidRecord for each URL within
    other text.
    """
    for number, line in enumerate(read_lines(text), start=1):
        if len(line) > MAX_LINE:
            yield InvalidRecord(number, too_long(MAX_LINE))
            continue
        links = list(MARKDOWN_LINK.finditer(line))
        only_url = URL.match(line)
        if not links and only_url:
            links.append(only_url)
        for link in links:
            yield Record(number, link["url"], (link["title"] or "").strip())
        if not links and "://" in line:
            problem = gettext_noop("The URL is not at the beginning of the line.")
            yield InvalidRecord(number, problem)
