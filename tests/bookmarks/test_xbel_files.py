"""Reading XBEL, and lists of URLs."""

import io

import pytest

from bookmarks.files import CollectionRecord, InvalidRecord, UnreadableFile, read

pytestmark = pytest.mark.database_independent

BOOKMARK = '<bookmark href="https://a/"><title>A</title></bookmark>'


def records(text, file_format="xbel", encoding="utf-8"):
    return list(read(io.BytesIO(text.encode(encoding)), file_format))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BOOKMARK, [("https://a/", "A", None)]),
        (
            f"<folder><title>F</title><folder><title>G</title>{BOOKMARK}</folder>"
            f"{BOOKMARK}</folder>{BOOKMARK}",
            [
                ("https://a/", "A", "F / G"),
                ("https://a/", "A", "F"),
                ("https://a/", "A", None),
            ],
        ),
        (f"<folder>{BOOKMARK}</folder>", [("https://a/", "A", None)]),
        (
            "<title>The file</title><info><metadata/></info><separator/>"
            '<bookmark href="https://a/"><title>A <b>b</b></title></bookmark>',
            [("https://a/", "A b", None)],
        ),
        (
            '<bookmark href="https://a/?b&amp;copy=c"><title><![CDATA[A & B]]></title>'
            "</bookmark>",
            [("https://a/?b&copy=c", "A & B", None)],
        ),
        ('<bookmark href="https://a/" />', [("https://a/", None, None)]),
    ],
    ids=["top level", "folders", "no title", "other elements", "references", "empty"],
)
def test_bookmarks_are_read_with_their_folders(text, expected):
    found = records(f"<xbel>{text}</xbel>")

    assert [
        (record.url, record.title, record.collection) for record in found
    ] == expected


def test_the_date_and_the_description_of_a_bookmark_are_read():
    [record] = records(
        '<xbel><bookmark href="https://a/" added="2023-11-14" visited="2024-01-01" '
        'icon="x"><desc>A note</desc></bookmark></xbel>'
    )

    assert (record.created_at, record.note) == ("2023-11-14", "A note")


def test_an_empty_folder_is_a_collection():
    found = records("<xbel>\n<folder><title>F</title></folder></xbel>")

    assert found == [CollectionRecord(2, "F")]


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "utf-8"])
def test_the_declared_encoding_is_that_of_the_text(encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?><xbel>{BOOKMARK}</xbel>'

    [record] = records(text.replace("A<", "Ä<"), encoding=encoding)

    assert record.title == "Ä"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"<xbel>{BOOKMARK}", "line 1: no element found"),
        (f"<xbel>{BOOKMARK}\n<x></y>", "line 2: mismatched tag"),
        (f"<xbel>{BOOKMARK}\udcff", "not well-formed (invalid token)"),
        (f"<xbel>{BOOKMARK}" + "<a>" * 300, "it is nested too deep"),
        (f"<xbel>{BOOKMARK}<a b='" + "x" * 2_000_000, "an element is too long"),
    ],
    ids=["no end", "mismatch", "undecodable", "deep", "long"],
)
def test_a_malformed_file_is_read_as_far_as_possible(text, reason):
    data = text.encode(errors="surrogateescape")
    found = []
    with pytest.raises(UnreadableFile) as error:
        found.extend(read(io.BytesIO(data), "xbel"))

    assert str(error.value).startswith("The file cannot be read after line ")
    assert reason in str(error.value)


@pytest.mark.parametrize(
    "declarations",
    [
        '<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % a SYSTEM "http://127.0.0.1/">%a;',
    ],
    ids=["expansion", "external", "parameter"],
)
def test_a_file_with_entities_is_refused(declarations):
    text = f"<!DOCTYPE xbel [{declarations}]><xbel>{BOOKMARK}</xbel>"

    with pytest.raises(UnreadableFile, match=r"line 1: it declares entities\.$"):
        records(text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("https://a/", ("https://a/", "")),
        ("https://a/ | A | B\r", ("https://a/", "A | B")),
        ("* https://a/", ("https://a/", "")),
        ("12. <https://a/>", ("https://a/", "")),
        ("chrome://settings | Settings", ("chrome://settings", "Settings")),
        ("- [ ] [A [b] c](https://a/b_(c)) and text", ("https://a/b_(c)", "A [b] c")),
        ('See [A](<https://a/> "title").', ("https://a/", "A")),
    ],
)
def test_a_line_with_a_link_is_a_bookmark(line, expected):
    [record] = records(f"# Links\n\n{line}\nText\n", "txt")

    assert (record.line, record.url, record.title) == (3, *expected)


def test_several_links_of_a_line_are_bookmarks():
    found = records("[A](https://a/), [B](https://b/)", "txt")

    assert [record.url for record in found] == ["https://a/", "https://b/"]


def test_a_url_within_text_is_refused():
    reason = "The URL is not at the beginning of the line."

    assert records("https://a/\nSee https://b/\n", "txt")[1] == InvalidRecord(2, reason)
