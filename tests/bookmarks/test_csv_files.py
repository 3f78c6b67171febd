"""Reading and writing CSV."""

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookmarks.files import comma_separated
from bookmarks.files.comma_separated import read as read_file
from bookmarks.files.comma_separated import write
from bookmarks.files.records import CollectionRecord, InvalidRecord
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.usergroups.factories import UserGroupFactory

MISPLACED = "Not CSV: a quotation mark is missing or misplaced."


def read(text):
    return list(read_file(io.BytesIO(text if isinstance(text, bytes) else text.encode())))


def titles(records):
    """Return the titles of the records, or the lines of those that are refused."""
    return [record.line if isinstance(record, InvalidRecord) else record.title for record in records]


# Quotation marks


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(['https://a/,"b', "https://c/,d", "https://e/,f"], [2, "d", "f"], id="not closed"),
        pytest.param(['https://a/,"b', "https://c/,d", 'https://e/,"f"'], [2, "d", "f"], id="closed by a quoted cell"),
        pytest.param(['https://a/,"b', "https://c/,d", 'https://e/,f"'], [2, "d", 4], id="closed by a stray one"),
        pytest.param(['https://a/,b"', "https://c/,d"], [2, "d"], id="in an unquoted cell"),
        pytest.param(['https://a/,"b"c', "https://c/,d"], [2, "d"], id="followed by text"),
        pytest.param(['https://a/, "b"', "https://c/,d"], [2, "d"], id="after a space"),
        pytest.param(['"https://a/,b', '"https://c/,d', "https://e/,f"], [2, 3, "f"], id="on each line"),
        pytest.param(['https://a/,"b', "", "c", 'd"', "https://e/,f"], ["b\n\nc\nd", "f"], id="a cell of four lines"),
        pytest.param(['https://a/,"b', 'https://c/"'], ["b\nhttps://c/"], id="an address in a cell"),
        pytest.param(['https://a/,"b', 'c"",d', '"', "https://e/,f"], ['b\nc",d\n', "f"], id="a doubled one"),
        pytest.param(['https://a/,"b', 'c","d"', "https://e/,f"], [2, 3, "f"], id="too many cells on two lines"),
        pytest.param(['https://a/,"b" ', "https://c/,d"], [2, "d"], id="followed by a space"),
    ],
)
def test_a_stray_quotation_mark_costs_one_row(rows, expected):
    records = read("\n".join(["url,title", *rows]))

    assert titles(records) == expected
    assert {record.reason for record in records if isinstance(record, InvalidRecord)} <= {MISPLACED}


@pytest.mark.parametrize("header", ["url,title", "url,title,collection,created_at"])
def test_a_stray_quotation_mark_does_not_cost_thousands_of_rows(header):
    rows = [f"https://example.com/{n},Title {n}" for n in range(6059)]

    records = read("\n".join([header, 'https://example.com/,"Stray', *rows]))

    assert titles(records) == [2, *(f"Title {n}" for n in range(6059))]
    assert [record.line for record in records] == list(range(2, 6062))


def test_a_row_is_not_longer_than_a_mebibyte():
    lines = ["url,title", 'https://a/,"b', *["x" * 99_999] * 12, 'c"', "https://d/,e"]

    records = read("\n".join(lines))

    assert (records[0], records[-1].title) == (InvalidRecord(2, MISPLACED), "e")


def test_a_line_is_not_longer_than_a_mebibyte():
    records = read("url,title\nhttps://a/," + "b" * 3_000_000 + "\nhttps://c/,d")

    assert records[0] == InvalidRecord(2, "The line is longer than 1048576 characters.")
    assert (records[1].line, records[1].title) == (3, "d")


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_read_at_most_twice(monkeypatch, seed):
    """Otherwise reading would take quadratic time."""
    taken = []
    take = comma_separated.RowReader.take
    monkeypatch.setattr(comma_separated.RowReader, "take", lambda self: taken.append(1) or take(self))
    pieces = random.Random(seed).choices(['"', ",", "a", "\n", '"",', "https://a/,b\n"], k=5000)
    text = "url,title\n" + "".join(pieces)

    read(text)

    assert len(taken) <= 2 * len(text.splitlines()) + 3


# Layout


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("url;title\nhttps://a/;b", id="semicolons"),
        pytest.param("url\ttitle\nhttps://a/\tb", id="tabs"),
        pytest.param("sep=|\r\nurl|title\r\nhttps://a/|b\r\n", id="declared"),
        pytest.param('"Title","URL"\r"b","https://a/"\r', id="carriage returns"),
        pytest.param("\ufeffurl,title\r\n\r\nhttps://a/,b\r\n,\r\n", id="empty rows"),
        pytest.param("url,title\nhttps://a/,b,,", id="empty cells at the end"),
        pytest.param("url\ttitle\r\nhttps://a/\tb\r\n".encode("utf-16"), id="Unicode text of a spreadsheet"),
        pytest.param("HREF,Description\nhttps://a/,b", id="columns of Pinboard"),
        pytest.param("url,title,URL,title\nhttps://a/,b,,", id="columns twice"),
    ],
)
def test_layouts_of_csv_are_recognised(text):
    [record] = read(text)

    assert (record.url, record.title) == ("https://a/", "b")


def test_missing_cells_are_empty():
    [record] = read("title,url,folder\nb,https://a/")

    assert (record.url, record.title, record.collection) == ("https://a/", "b", None)


def test_a_row_with_too_many_cells_is_refused():
    records = read("url,title\nhttps://a/,b, c\nhttps://d/,e")

    assert records[0] == InvalidRecord(2, "The row has 3 cells for 2 columns.")
    assert records[1].title == "e"


def test_unknown_columns_are_named_and_identifiers_are_not():
    [record] = read("id,url,Note,private,title,name,Note\n7,https://a/,x,0,b,c,x")

    assert record.left_out == ("Note", "name")


def test_a_row_with_only_a_collection_stands_for_an_empty_one():
    assert read("url,collection,note\n,A,\n,B,x") == [
        CollectionRecord(2, "A"),
        InvalidRecord(3, "The entry has no URL."),
    ]


# Formulas


@pytest.mark.parametrize("title", ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "'=1", "''@a"])
def test_formulas_are_exported_as_text_and_imported_again(title):
    text = "".join(write([Bookmark(url="https://a/", title=title, created_at=BookmarkFactory.build().created_at)]))

    assert f"'{title}" in text
    assert [record.title for record in read(text)] == [title]


@pytest.mark.parametrize("title", ["'a", "a=b", "'", "1"])
def test_other_text_is_exported_as_it_is(title):
    text = "".join(write([Bookmark(url="https://a/", title=title, created_at=BookmarkFactory.build().created_at)]))

    assert f",{title}," in text
    assert [record.title for record in read(text)] == [title]


def test_names_of_owners_are_not_exported_as_formulas(db):
    group = UserGroupFactory(team__name="=1", provided_id="@1")
    bookmark = BookmarkFactory(user_group=group, title="-1", collection=CollectionFactory(user_group=group, name="+1"))

    text = "".join(write([bookmark], with_owner=True))
    [record] = read(text)

    assert text.splitlines()[1].count("'") == 4
    assert (record.title, record.collection) == ("-1", "+1")


def test_apostrophes_in_files_of_other_programs_are_kept():
    assert titles(read("url,title\nhttps://a/,'=b")) == ["'=b"]


# Round trip

special = st.sampled_from("a\"',;=+-@\t\r\n \u2028\u0085\x0b\x1c{}[]\\\ufeff")
nasty = st.text(special | st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@given(st.lists(st.tuples(nasty, nasty)))
def test_what_is_written_is_read_again(values):
    created_at = BookmarkFactory.build().created_at
    items = []
    for title, name in values:
        collection = Collection(name=name or "x")
        items += [Bookmark(url="https://a/", title=title, collection=collection, created_at=created_at), collection]

    records = read("".join(write(items)))

    assert len(records) == len(items)
    for item, record in zip(items, records, strict=True):
        if isinstance(item, Bookmark):
            assert (record.url, record.title, record.collection) == (item.url, item.title, item.collection.name)
        else:
            assert record == CollectionRecord(record.line, item.name)
