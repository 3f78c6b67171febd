"""Folders of HTML files and the collections that they become."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookmarks.files import netscape
from bookmarks.files import records as records_module
from bookmarks.files.records import CollectionRecord, Record
from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, Bookmark, Collection

pytestmark = pytest.mark.once

LINK = '<DT><A HREF="https://example.com/">Title</A>\n'
TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def read(html):
    return list(netscape.read(io.BytesIO(html.encode())))


def collections(html):
    """Return the collection of each record, marked if it has no bookmark."""
    return [(record.collection, isinstance(record, CollectionRecord)) for record in read(html)]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        pytest.param(f"<DL><DT><H3>A</H3><DL><DT><H3>B</H3><DL>{LINK}</DL></DL>", [("A / B", False)], id="nested"),
        pytest.param(f"<DL><DT><H3>A / B</H3><DL>{LINK}</DL></DL>", [("A // B", False)], id="a slash in a name"),
        pytest.param("<DL><DT><H3>A</H3><DL></DL></DL>", [("A", True)], id="empty"),
        pytest.param("<DL><DT><H3>A</H3><DL>", [("A", True)], id="empty and not closed"),
        pytest.param("<DL><DT><H3>A</H3><DL><DT><H3>B</H3><DL></DL></DL></DL>", [("A / B", True)], id="empty inside"),
        pytest.param(f"<DL><DT><H3>A</H3>{LINK}</DL>", [("A", True), (None, False)], id="no list"),
        pytest.param("<DL><DT><H3>A</H3><DT><H3>B</H3></DL>", [("A", True), ("B", True)], id="no lists"),
        pytest.param(f"<DL><DT><H3>A<DL>{LINK}</DL>{LINK}", [("A", False), (None, False)], id="no end of the heading"),
        pytest.param(f"<DL><DT><H3></H3><DL>{LINK}</DL></DL>", [(None, False)], id="no name"),
        pytest.param(f"<DL><DT><H3><A NAME='a'>A</A></H3><DL>{LINK}", [("A", False)], id="an anchor in a heading"),
        pytest.param(f"<H1>T</H1><DL>{LINK}</DL>", [(None, False)], id="the title of the file"),
        pytest.param(f"<h1>A</h1><ul>{LINK}</ul><h1>B</h1><ol>{LINK}</ol>", [("A", False), ("B", False)], id="Pocket"),
        pytest.param(f"<DL><H3>A</H3><DL>{LINK}<DD><ul><li>text</DL>{LINK}", [("A", False), (None, False)],
                     id="a list in a description"),
        pytest.param("<DL><DL></DL></DL>", [], id="lists without headings"),
    ],
)  # fmt: skip
def test_folders_are_collections(html, expected):
    assert collections(html) == expected


def test_deep_paths_stay_distinct():
    html = "<DT><H3>A folder</H3><DL>" * 500 + f"<DT><H3>A</H3><DL>{LINK}</DL><DT><H3>B</H3><DL>{LINK}</DL>"

    first, second = (record.collection for record in read(html))

    assert first != second
    assert len(first) == len(second) == records_module.MAX_PATH_LENGTH
    assert records_module.shortened(first) != records_module.shortened(second)


def test_folders_that_are_too_deep_count_as_the_last_one(monkeypatch):
    monkeypatch.setattr(netscape, "MAX_DEPTH", 2)

    assert collections(f"<H3>A</H3><DL><H3>B</H3><DL><H3>C</H3><DL>{LINK}</DL></DL>{LINK}</DL>{LINK}") == [
        ("A / B", False), ("A", False), (None, False),
    ]  # fmt: skip


def test_deep_lists_take_no_memory():
    reader = netscape.NetscapeReader(io.StringIO("<DL>" * 5000))

    assert list(reader) == []
    assert len(reader.names) == netscape.MAX_DEPTH < reader.depth


names = st.text(st.sampled_from("A/ \r\n<&é\t\"'~"), min_size=1, max_size=12)
nested_names = st.lists(names, min_size=1, max_size=4).map(records_module.joined)
long_names = st.just("a / b" * (MAX_COLLECTION_NAME_LENGTH // 5))


@given(
    groups=st.lists(st.tuples(st.none() | names | nested_names | long_names, st.integers(0, 2)), max_size=6),
    title=st.text(st.sampled_from("A/ \r\n<&é\t"), max_size=6),
)
@settings(max_examples=300, deadline=None)
def test_what_is_written_is_read(groups, title):
    """Each group is the name of a collection and the number of bookmarks in it."""
    items, expected = [], []
    for name, number in groups:
        collection = None if name is None else Collection(name=name)
        bookmark = Bookmark(url="https://example.com/?a&b", title=title, collection=collection, created_at=TIME)
        items += [bookmark] * number if number or not collection else [collection]
        expected += [(bookmark.url, title, name, "2026-01-02T03:04:05.678901Z")] * number
        expected += [] if number or not collection else [name]

    records = read("".join(netscape.write(items)))

    assert [record[1:5] if isinstance(record, Record) else record.collection for record in records] == expected
