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
from tests.bookmarks.test_programs import PROGRAMS

pytestmark = pytest.mark.database_independent

INPUTS = PROGRAMS.parent / "inputs"

VALID = {
    "html": PROGRAMS / "firefox.html",
    "jsonl": PROGRAMS / "export_for_browsers.jsonl",
    "csv": PROGRAMS / "csv_quotes.csv",
    "json": PROGRAMS / "firefox.json",
    "xbel": INPUTS / "small.xbel",
    "txt": INPUTS / "links.md",
}

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
    data = valid
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
@settings(
    max_examples=100, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
# most often None
@given(
    data=st.data(),
    encoding=st.sampled_from([None, None, "utf-16le", "gb18030", "euc-jp"]),
)
def test_damaged_files_are_read_without_exceptions(name, data, encoding):
    content = data.draw(damaged(VALID[name].read_bytes()))

    records = []
    with suppress(UnreadableFile):
        records.extend(read(io.BytesIO(content), name, encoding))

    for record in records:
        assert isinstance(record, Record | CollectionRecord | InvalidRecord)
        # An empty folder in a JSON file has the number of the bookmark before
        # it, or 0.
        assert 0 <= record.line <= len(content)
    assert all(refusal.reason for refusal in refusals_of(records))
