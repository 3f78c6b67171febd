"""Damaged files of every format are read without exceptions."""

import io
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookmarks.files import UnreadableFile, read
from bookmarks.files.records import CollectionRecord, InvalidRecord, Record
from bookmarks.import_report import Report
from bookmarks.imports import valid_rows

pytestmark = pytest.mark.database_independent

VALID = {
    "html": (
        """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- A comment -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
    <DT><A HREF="https://example.com/?a=1&amp;b=2" ADD_DATE="1700000000" TAGS="a,b">R&amp;D &#233; é</A>
    <DD>A description
    <DT><H3 ADD_DATE="1700000000" COLLECTION="A // B">A / B</H3>
    <DL><p>
        <DT><A HREF='https://example.com/2'>In a <b>folder</b></A>
        <HR>
    </DL><p>
</DL>
"""
    ),
    "jsonl": (
        """{"url": "https://example.com/", "title": "A \\u00e9 é", "collection": "C", "created_at": 1700000000}
{"url": "https://example.com/2", "other": [1, {"a": null}], "created_at": "2026-01-01T00:00:00Z"}
"""
    ),
    "csv": (
        """url,title,collection,created_at,other
https://example.com/,"A ""quoted"", title
é",C,2026-01-01T00:00:00Z,x
https://example.com/2,'=1+1,,1700000000,
"""
    ),
    "json": (
        """{"guid": "menu________", "title": "menu", "children": [
{"title": "A \\u00e9 é", "uri": "https://example.com/", "dateAdded": 1700000000000000, "tags": "a",
"annos": [{"a": 1}]},
{"children": [
{"name": "B", "type": "url", "content": {"url": "https://example.com/2"}, "labels": [], "date_added": null}
], "name": "A / B"}]}
"""
    ),
}
"""A small valid file of each format, with all of its structures."""

FRAGMENTS = [
    *b"< > \" ' & &# ; = / \\ , { } [ ] : <!-- --> <![ <? </ <style> <script>".split(),
    *b"<plaintext> <DL> </DL> <H3> &#99999999999; &#xD800; <meta charset= utf-16".split(),
    *b"shift_jis null 1e999 -1 NaN true \\ud800 \\u0000".split(),
    *(b"\r", b"\n", b"\0", b"\x1a", b"\x80", b"\xc3", b"\xff", b"\xff\xfe", b"A / B"),
    *(b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1f\x8b", b"9" * 400, b"[" * 400),
]
"""Bytes that mean something in one of the formats or encodings."""


@st.composite
def damaged(draw, valid):
    """Return the bytes of a valid file after one to four random changes."""
    data = valid.encode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 60)))
        part = data[start:end]
        fragment = draw(st.sampled_from(FRAGMENTS))
        place = draw(st.integers(0, len(data)))
        change = draw(
            st.sampled_from(["delete", "repeat", "move", "insert", "replace", "cut"])
        )
        data = {
            "delete": data[:start] + data[end:],
            "repeat": data[:end] + part * 3 + data[end:],
            "move": (
                (data[:start] + data[end:])[:place]
                + part
                + (data[:start] + data[end:])[place:]
            ),
            "insert": data[:start] + fragment + data[start:],
            "replace": data[:start] + fragment + data[end:],
            "cut": data[:end] or data,
        }[change]
    return data


def refusals_of(records):
    """Validate the records and return the refusals."""
    report = Report()
    list(valid_rows(records, report, with_collections=True))
    return report.refusals


@pytest.mark.parametrize("name", VALID)
def test_the_undamaged_files_are_valid(name):
    records = list(read(io.BytesIO(VALID[name].encode()), name))

    assert len(records) == 2
    assert refusals_of(records) == []


@pytest.mark.parametrize("name", VALID)
@settings(
    max_examples=300, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
# most often None
@given(
    data=st.data(),
    encoding=st.sampled_from([None, None, "utf-16le", "gb18030", "euc-jp"]),
)
def test_damaged_files_are_read_without_exceptions(name, data, encoding):
    content = data.draw(damaged(VALID[name]))

    records = []
    with suppress(UnreadableFile):
        records.extend(read(io.BytesIO(content), name, encoding))

    # Upper bounds: a record's ``line`` is the number of its line, or in a JSON
    # file the ordinal number of its bookmark.
    lines = content.count(b"\n") + content.count(b"\r") + 2
    bookmarks = content.count(b",") + content.count(b"[") + 2
    assert all(
        isinstance(record, Record | CollectionRecord | InvalidRecord)
        for record in records
    )
    assert all(record.line <= max(lines, bookmarks) for record in records)
    # An empty folder in a JSON file has the number of the bookmark before it,
    # or 0.
    assert all(
        record.line >= (0 if isinstance(record, CollectionRecord) else 1)
        for record in records
    )
    assert all(refusal.reason for refusal in refusals_of(records))
