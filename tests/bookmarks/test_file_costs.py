"""The dearest files are read in linear time.

A search has found them, which repeated each token of a format, and each two of
them, after each of several beginnings.
"""

import io
import json
from pathlib import Path

import pytest

from bookmarks.files import read
from bookmarks.import_report import Report
from bookmarks.imports import valid_rows
from usergroups.api.throttling import Deadline

pytestmark = pytest.mark.database_independent

INPUTS = Path(__file__).parent / "inputs"
SIZE = 100_000  # bytes
LINK = "<DL><DT><A HREF='https://a.example/'>A</A><DD>"


def content(beginning, part, size):
    text = beginning + part * (size // len(part))
    return text.encode()[:size]


def folders_in_a_circle():
    """Return bookmarks in lists that refer to one another, with long names.

    There are more lists than levels of Python's stack that may be used.
    """
    number = 2000
    lists = [
        {"id": str(n), "name": "/ " * 100, "parentId": str((n + 1) % number)}
        for n in range(number)
    ]
    bookmark = {"url": "http://a.example/", "lists": [str(n) for n in range(100)]}
    return json.dumps({"lists": lists, "bookmarks": [bookmark] * 500})


WORST = {
    "csv, open quotation marks": ("csv", content("url,a,b\n", 'a"b,"c\n', SIZE)),
    "csv, one open quotation mark": ("csv", content('url,a\n"', "a\n", SIZE)),
    "csv, short rows": ("csv", content("url\n", "http://a\n", SIZE)),
    "csv, collections": ("csv", content("url,collection\n", ",a\n", SIZE)),
    "json, folders in a circle": ("json", folders_in_a_circle().encode()),
    "json, the circle that took hours": (
        "json",
        (INPUTS / "lists_in_a_cycle.json").read_bytes(),
    ),
    "json, folders in folders": (
        "json",
        content("[", '{"name":"A","children":[' * 60 + "]}" * 60 + ",", SIZE),
    ),
    "json, empty objects": ("json", content("[", "{},", SIZE)),
    "jsonl, collections": ("jsonl", content("", '{"collection":"a"}\n', SIZE)),
    "html, links in a note": ("html", content(LINK, "<A HREF=a>", SIZE)),
    "html, closing tags": ("html", content("<DL>", "</a", SIZE)),
    "html, headings": ("html", content("<DL>", "<H3>a</H3><DL>", SIZE)),
    "html, an open attribute": ("html", content("<a b='", "<a ", SIZE)),
    "xbel, folders": (
        "xbel",
        content("<xbel>", "<folder><title>a</title></folder>", SIZE),
    ),
    "xbel, an open attribute": ("xbel", content("<xbel a='", "a", SIZE)),
    "xbel, declarations": ("xbel", content("<!DOCTYPE a [", "<!ELEMENT a ANY>", SIZE)),
    "txt, brackets": ("txt", content("", "[", SIZE)),
    "txt, links": ("txt", content("", "[a](http://a", SIZE)),
    "txt, short lines": ("txt", content("", "://\n", SIZE)),
}


@pytest.mark.parametrize(("file_format", "data"), WORST.values(), ids=WORST)
def test_a_file_is_read_in_linear_time(file_format, data):
    """A quadratic reader would need minutes or hours for these files, which take
    less than a second.
    """
    report = Report()

    with Deadline(60).interrupt():
        records = read(io.BytesIO(data), file_format)
        rows = list(valid_rows(records, report, with_collections=True))

    assert rows or report.refused or report.error
