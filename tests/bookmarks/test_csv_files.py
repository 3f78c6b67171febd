"""Reading and writing CSV."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookmarks.files.comma_separated import read as read_file
from bookmarks.files.comma_separated import write
from bookmarks.files.decoding import open_text
from bookmarks.files.records import CollectionRecord, InvalidRecord, Record

pytestmark = pytest.mark.database_independent

MISPLACED = (
    "A quotation mark is missing or misplaced, so the lines up to {} cannot be read."
)


def read(text):
    data = text if isinstance(text, bytes) else text.encode()
    return list(read_file(open_text(io.BytesIO(data))))


def titles(records):
    """Return the title of each record, or its line number if it is refused."""
    return [
        record.line if isinstance(record, InvalidRecord) else record.title
        for record in records
    ]


# Quotation marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('https://a/,"b\n\nc\nd"\nhttps://e/,f', ["b\n\nc\nd", "f"]),
        ('https://a/,"b\nhttps://c/"', ["b\nhttps://c/"]),
        ('https://a/,"b\nc"",d\n"\nhttps://e/,f', ['b\nc",d\n', "f"]),
    ],
    ids=["four lines", "an address", "a quotation mark"],
)
def test_a_quoted_cell_may_contain_line_breaks_addresses_and_quotation_marks(
    text, expected
):
    assert titles(read(f"url,title\n{text}")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('https://a/,"b\nhttps://c/,d\nhttps://e/,f', [(2, 4)]),
        ('https://a/,"b\nhttps://c/,d\nhttps://e/,"f"\nhttps://g/,h', [(2, 4), "h"]),
        ('"https://a/,b\n"https://c/,d\nhttps://e/,f', [(2, 3), "f"]),
        ('https://a/,"b\nc","d"\nhttps://e/,f', [(2, 3), "f"]),
        ('"a" b,"c\nhttps://e/,f', [(2, 2), "f"]),
    ],
    ids=[
        "not closed",
        "before a quoted cell",
        "on each line",
        "many cells",
        "misplaced",
    ],
)
def test_a_row_with_a_missing_quotation_mark_is_refused_with_its_lines(text, expected):
    first, *others = expected
    line, last = first

    refused, *read_on = read(f"url,title\n{text}")

    assert refused == InvalidRecord(line, MISPLACED.format(last))
    assert titles(read_on) == others


def test_a_quotation_mark_that_is_not_closed_costs_at_most_a_mebibyte():
    rest = "".join(f"https://a/{number},b\n" for number in range(80_000))

    refused, first, *_others = read(f'url,title\nhttps://a/,"b\n{rest}')

    assert refused == InvalidRecord(2, MISPLACED.format(first.line - 1))


@pytest.mark.parametrize(
    ("cell", "title"),
    [
        ('My 24" monitor', 'My 24" monitor'),
        ('b"', 'b"'),
        ('"b"c', "bc"),
        ('"b" ', "b "),
        (' "b"', ' "b"'),
        ('"a "b" c"', 'a b" c"'),
    ],
)
def test_a_misplaced_quotation_mark_is_read_as_spreadsheets_do(cell, title):
    assert titles(read(f"title,url\n{cell},https://a/\nd,https://c/")) == [title, "d"]


def test_a_line_longer_than_a_mebibyte_is_refused():
    records = read("url,title\nhttps://a/," + "b" * 3_000_000 + "\nhttps://c/,d")

    assert records[0] == InvalidRecord(2, "The line is longer than 1048576 characters.")
    assert (records[1].line, records[1].title) == (3, "d")


# Tags


@pytest.mark.parametrize("tag", ["true", "null", "2e3"])
def test_only_text_in_brackets_is_read_as_json(tag):
    [record] = read(f"url,tags\nhttps://a/,{tag}")

    assert record.tags == (tag,)


# Layout


@pytest.mark.parametrize(
    "text",
    [
        "url;title\nhttps://a/;b",
        "url\ttitle\nhttps://a/\tb",
        '"Title","URL"\r"b","https://a/"\r',
        "\ufeffurl,title\r\n\r\nhttps://a/,b\r\n,\r\n",
        "url,title\nhttps://a/,b,,",
        "url\ttitle\r\nhttps://a/\tb\r\n".encode("utf-16"),
        "HREF,Description\nhttps://a/,b",
        "url,title,URL,title\nhttps://a/,b,,",
        "\n \nurl;title\nhttps://a/;b",
        "sep=;\r\nurl;title\r\nhttps://a/;b",
        "sep=|\nurl|title\nhttps://a/|b",
        "a, or b;title;url;(c,d,e)\n;b;https://a/;",
    ],
)
def test_layouts_of_csv_are_recognised(text):
    [record] = read(text)

    assert (record.url, record.title) == ("https://a/", "b")


def test_a_row_with_too_many_cells_is_refused():
    records = read("url,title\nhttps://a/,b, c\nhttps://d/,e")

    assert records[0] == InvalidRecord(2, "The row has 3 cells for 2 columns.")
    assert records[1].title == "e"


def test_the_first_200_columns_are_read():
    [record] = read("a," * 199 + "url,title\n" + "," * 199 + "https://a/,b")

    assert (record.url, record.title) == ("https://a/", None)


def test_a_row_with_only_a_collection_stands_for_an_empty_collection():
    assert read("url,collection,note\n,A,\n,B,x") == [
        CollectionRecord(2, "A"),
        InvalidRecord(3, "The entry has no URL."),
    ]


@pytest.mark.parametrize("first", ["location", "location;title", "a/"])
def test_a_csv_file_without_a_url_column_is_refused_once(first):
    reason = (
        "The header has no column named url, uri, href or link, so no bookmarks can be "
        "read."
    )

    assert read(f"{first}\nhttps://b/\n") == [InvalidRecord(1, reason)]


# Formulas


# What is written for a title: also after semicolons and line breaks, because a
# spreadsheet may separate cells by semicolons.
FORMULAS = {
    **{
        title: f"'{title}" for title in ("=1+1", "+1", "-1", "@a", "\t=1", "\ra", "'=1")
    },
    "a;=1": "a;'=1",
    "a;'=1": "a;''=1",
    ";;+1;-1": ";;'+1;'-1",
    "a\n@b": "a\n'@b",
    "\r=1": "'\r'=1",
    ";\t=": ";'\t=",
}


@pytest.mark.parametrize("title", FORMULAS)
def test_formulas_are_exported_as_text_and_imported_again(title):
    text = "".join(write([Record(1, "https://a/", title)]))

    assert FORMULAS[title] in text
    assert [record.title for record in read(text)] == [title]


@given(st.text(alphabet="=-;'\r\na", max_size=8))
def test_any_title_with_separators_and_formulas_is_imported_as_it_was(title):
    text = "".join(write([Record(1, "https://a/", title)]))

    assert [record.title or "" for record in read(text)] == [title]


def test_apostrophes_in_files_of_other_programs_are_kept():
    assert titles(read("url,title\nhttps://a/,'=b")) == ["'=b"]
