"""Files with which importers of other programs have failed.

The inputs are reduced to what matters. Each test has the repository and the
number of the report. Reports that are not here are about files that the tests
of HTML, JSON, CSV and of programs have already.
"""

import io

import pytest

from bookmarks.files import read

pytestmark = pytest.mark.database_independent

START = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n"
A = '<DT><A HREF="https://a/">A</A>'
B = '<DT><A HREF="https://b/">B</A>'


def link(url, title, collection=None, tags=(), note=""):
    """Return what is compared of a record."""
    return url, title, collection, tuple(tags), note


CASES = {
    "shaarli/netscape-bookmark-parser#24 the first link is beside the heading": (
        "html",
        f"{START}<H1>Bookmarks</H1>{A}\n<DD>on/off \n{B}\n",
        [link("https://a/", "A", note="on/off"), link("https://b/", "B")],
    ),
    "shaarli/netscape-bookmark-parser#51 a link in a description": (
        "html",
        f"{START}<DL><p>{A}\n<DD>See <a href='https://c/'>this</a>.\n{B}\n</DL><p>",
        [
            link("https://a/", "A", note="See"),
            link("https://c/", "this"),
            link("https://b/", "B"),
        ],
    ),
    "techknowlogick/shiori#193 a title is a tag": (
        "html",
        f'<DL><DT><A HREF="https://x/"><rubyXML/></A>\n<DD>some apps\n{A}</DL>',
        [link("https://x/", "<rubyXML/>", note="some apps"), link("https://a/", "A")],
    ),
    "techknowlogick/shiori#193 tags in a description": (
        "html",
        f"<DL>{A}\n<DD>Add <script> tags\n* and a <textarea> field.\n{B}</DL>",
        [
            link(
                "https://a/", "A", note="Add <script> tags\n* and a <textarea> field."
            ),
            link("https://b/", "B"),
        ],
    ),
    "linkwarden/linkwarden#1757 folders with equal names": (
        "html",
        "<DL><DT><H3>A</H3><DL><DT><H3>Target</H3><DL>"
        f"{A}</DL></DL><DT><H3>B</H3><DL><DT><H3>Target</H3><DL>{B}</DL></DL></DL>",
        [
            link("https://a/", "A", "A / Target"),
            link("https://b/", "B", "B / Target"),
        ],
    ),
    "linkwarden/linkwarden#598 a folder in one without a name": (
        "html",
        "<DL><DT><H3>Bar</H3><DL><p><DT><H3></H3><DL><p><DT><H3>Photos</H3><DL><p>"
        f"{A}</DL><p></DL><p></DL><p></DL>",
        [link("https://a/", "A", "Bar / Photos")],
    ),
    "Kovah/LinkAce#578 tags of one link and not of the next": (
        "html",
        '<DL><DT><H3>buku bookmarks</H3><DL><DT><A HREF="https://x/" TAGS="p,q">X</A>'
        f"{A}</DL></DL>",
        [
            link("https://x/", "X", "buku bookmarks", ["p", "q"]),
            link("https://a/", "A", "buku bookmarks"),
        ],
    ),
    "cdevroe/unmark#279 a comma after the last tag": (
        "html",
        '<DL>\n<DT><A HREF="https://x/" TAGS="work," >X</A>\n\n</DL>',
        [link("https://x/", "X", tags=["work"])],
    ),
    "MoonchildProductions/Pale-Moon#997 a separator after a description": (
        "html",
        f"<DL><p>{A}\n<DD>text\n<HR>\n{B}\n</DL><p>",
        [link("https://a/", "A", note="text"), link("https://b/", "B")],
    ),
    "shaarli/Shaarli#902 angle brackets in a description": (
        "html",
        f"<DL>{A}\n<DD>-----BEGIN-----\nC++$>+++$ W++ N++>- h---->++\n{B}</DL>",
        [
            link(
                "https://a/", "A", note="-----BEGIN-----\nC++$>+++$ W++ N++>- h---->++"
            ),
            link("https://b/", "B"),
        ],
    ),
    "shaarli/Shaarli#1021 a line break in an attribute": (
        "html",
        '<dl><dt><a href="https://x/" description="one\ntwo" tags="t">X</a>\n</dl>',
        [link("https://x/", "X", tags=["t"], note="one\ntwo")],
    ),
    "nextcloud/bookmarks#923 closed descriptions": (
        "html",
        f"<DL><p>{A}</DT><DD>note of A</DD>{B}</DT></DL>",
        [link("https://a/", "A", note="note of A"), link("https://b/", "B")],
    ),
    "sissbruecker/linkding#1143 a missing quotation mark": (
        "html",
        f'<DL><DT><A HREF="https://x/ ADD_DATE="1" TAGS="t">X</A>\n{A}</DL>',
        [
            link("https://x/ ADD_DATE=", "X", tags=["t"]),
            link("https://a/", "A"),
        ],
    ),
    "ArchiveBox/ArchiveBox#84 a file of Session Buddy": (
        "json",
        '{"format": "nxs.json.v1", "sessions": [{"title": "Research", "windows": '
        '[{"id": 1, "tabs": [{"url": "https://a/", "title": "A"}]}]}]}',
        [link("https://a/", "A", "Research")],
    ),
    "jarun/buku#340 names of the folders of Firefox in another language": (
        "json",
        '{"root": "placesRoot", "children": [{"title": "Lesezeichen-Symbolleiste", '
        '"root": "toolbarFolder", "children": [{"uri": "https://a/", "title": "A"}]}, '
        '{"title": "Weitere", "root": "unfiledBookmarksFolder", "type": '
        '"text/x-moz-place-container"}]}',
        [link("https://a/", "A", "Bookmarks Toolbar")],
    ),
    "wallabag/wallabag#8217 a line break in a title of Pocket": (
        "csv",
        "title,url,time_added,tags,status\n\"The Rise of ``Worse is Better''\nBy "
        'Richard",https://a/,1319496783,,archive\nB,https://b/,1319496784,,unread\n',
        [
            link("https://a/", "The Rise of ``Worse is Better''\nBy Richard"),
            link("https://b/", "B"),
        ],
    ),
    "davidohlin/instapaper-to-omnivore-import#6 labels in brackets": (
        "csv",
        "url,state,labels,saved_at\nhttps://a/,SUCCEEDED,[Two Words],1695480000000\n",
        [link("https://a/", None, tags=["Two Words"])],
    ),
}


@pytest.mark.parametrize(("file_format", "text", "expected"), CASES.values(), ids=CASES)
def test_a_reported_file_is_read(file_format, text, expected):
    records = read(io.BytesIO(text.encode()), file_format)

    assert [
        (record.url, record.title, record.collection, record.tags, record.note)
        for record in records
    ] == expected
