"""Reading HTML files, even hostile ones: their tags and text, folders and
encodings.
"""

import io
import tracemalloc

import pytest

from bookmarks.files import decoding, fields, netscape
from bookmarks.files.folder_paths import MAX_PATH_LENGTH, shortened
from bookmarks.files.records import CollectionRecord, InvalidRecord, Record

pytestmark = pytest.mark.database_independent

BEFORE = '<DL>\n<DT><A HREF="https://example.com/before">Before</A>\n'
AFTER = '\n<DT><A HREF="https://example.com/after">After</A>\n</DL>'


def opened(html, encoding=None):
    return decoding.open_text(io.BytesIO(html), encoding, "html")


def read(html):
    return list(netscape.read(opened(html.encode())))


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("How <style> works", "How <style> works"),
        ("How <script src='&amp;'> works", "How <script src='&'> works"),
        ("List<int> and Map<K, V></K>", "List<int> and Map<K, V></K>"),
        ("<title>a</title> <textarea>", "<title>a</title> <textarea>"),
        ("<plaintext> and <xmp>", "<plaintext> and <xmp>"),
        ("A <b>bold</b> <br/>title", "A bold title"),
        ("A <!-- comment --> here", "A  here"),
        ("<![foo[ x ]]>a", "a"),
        ("<![CDATA[x]]>a", "xa"),
        ("<? x ?>a</ x>b</>c", "abc"),
        ("1 < 2 <3 <", "1 < 2 <3 <"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\0b", "ab"),
    ],
)
def test_markup_in_a_title_does_not_lose_a_link(written, title):
    records = read(f'{BEFORE}<DT><A HREF="https://example.com/">{written}</A>{AFTER}')

    assert [(record.url, record.title) for record in records] == [
        ("https://example.com/before", "Before"),
        ("https://example.com/", title),
        ("https://example.com/after", "After"),
    ]


@pytest.mark.parametrize(
    "unescaped",
    [
        "<style>",
        "<script>",
        "<title>",
        "<plaintext>",
        "<!--",
        "<![foo[",
        "<!x",
        "<?x",
        "</,x",
        "<,x",
        "&",
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "<DT><A HREF='https://example.com/'>a {}</A>",
        "<DT><H3>{}</H3><DL></DL>",
        "<DD>{}",
    ],
)
def test_unescaped_markup_does_not_lose_a_later_link(unescaped, around):
    records = read(BEFORE + around.format(unescaped) + AFTER)

    assert [record.url for record in records if isinstance(record, Record)][
        -1
    ] == "https://example.com/after"


@pytest.mark.parametrize(
    ("tag", "url"),
    [
        ("<A HREF=https://a/>", "https://a/"),
        ("<A HREF = 'https://a/?\"' HREF=https://b/>", 'https://a/?"'),
        ('<A\nHREF\n=\n"https://a/"ADD_DATE=1>', "https://a/"),
        ('<A HREF="https://a/>">', "https://a/>"),
        ("<a/href=https://a/b/c>", "https://a/b/c"),
        ('<a "x href=https://a/>', "https://a/"),
        (
            "<a =x href=https://a/?&amp;b&lt=c&#61=d&ltd&lt>",
            "https://a/?&b&lt=c==d&ltd<",
        ),
        ("<a href=https://a/\0>", "https://a/\ufffd"),
    ],
)
def test_attributes_are_read_as_browsers_do(tag, url):
    [record] = read(f"{tag}Title</a>")

    assert (record.url, record.title) == (url, "Title")


def test_a_character_reference_with_very_many_digits_stays_as_it_is():
    """Python fails on numbers of more than 4,300 digits."""
    reference = "&#" + "9" * 5000 + ";"

    [record] = read(f"<A HREF='https://a/'>{reference}</A>")

    assert record.title == reference


@pytest.mark.parametrize("comment", ["<!-- {} -->", "<!--{}--", "<!-->{}<!--->"])
def test_a_link_in_a_comment_is_read(comment):
    before, after = read(BEFORE + comment.format(AFTER))

    assert (before.title, after.title) == ("Before", "After")


def test_a_file_that_ends_in_a_tag_is_reported():
    assert read(f'{BEFORE}<DT><A HREF="https://exam')[1:] == [
        InvalidRecord(3, "The file ends within a tag.")
    ]


@pytest.mark.parametrize(
    ("written", "note"),
    [
        ("a</a> <a name='c'>b</a>", "a b"),
        (
            "Steps:<ul><li>one<li>two</ul> and <ol><li>three</ol>",
            "Steps:\none\ntwo and \nthree",
        ),
        ("one<br>two<p>three", "one\ntwo\nthree"),
    ],
    ids=["no URL", "lists", "line breaks"],
)
def test_a_note_may_contain_anchors_and_lists(written, note):
    before, record, after = read(
        f"{BEFORE}<DT><A HREF='https://a/'>A</A><DD>{written}{AFTER}"
    )

    assert (before.title, record.note, after.title) == ("Before", note, "After")


def test_a_note_that_ends_in_a_tag_does_not_lose_the_next_link():
    """The tag ``<b`` contains ``<DT>``."""
    html = f"""{BEFORE}<DD>a <b
    <DT><A HREF="https://a/" ADD_DATE="1">A</A>"""

    assert [(record.title, record.note) for record in read(html)] == [
        ("Before", "a"),
        ("A", ""),
    ]


def test_a_description_after_an_item_without_a_link_is_not_that_of_the_last_link():
    html = """<DL><DT><A HREF="https://a.example/">A</A><DD>About A
    <DT><A FEEDURL="https://b.example/">Feed</A><DD>About the feed</DL>"""

    records = read(html)

    assert [(record.title, record.note) for record in records] == [("A", "About A")]


@pytest.mark.parametrize("hostile", ["&a", "a", "<b c='"])
def test_hostile_html_takes_constant_memory(hostile):
    html = ("<H3>" + hostile * (4_000_000 // len(hostile))).encode()

    tracemalloc.start()
    for _ in netscape.read(opened(html)):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < len(html)


def test_the_map_of_an_object_with_many_keys_is_not_kept():
    """A hundred maps of 30,000 keys would take half a gigabyte."""
    before = fields._field_map.cache_info().currsize

    fields.record_of(1, {str(number): "" for number in range(1000)})

    assert fields._field_map.cache_info().currsize == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<A HREF="https://a/">b', [("https://a/", "b")]),
        (
            '<A HREF="https://a/">b\n  <DT><A HREF="https://c/">d',
            [("https://a/", "b"), ("https://c/", "d")],
        ),
        (
            '<A HREF="https://a/">b</DL></DL></DL><A HREF="https://c/">d</A>',
            [("https://a/", "b"), ("https://c/", "d")],
        ),
        ('<A>b</A><A NAME="x">c</A>', []),
        ('<SCRIPT><A HREF="https://a/">b</A></SCRIPT>', [("https://a/", "b")]),
    ],
    ids=["not closed", "closed by the next", "too many ends", "no URL", "in a script"],
)
def test_malformed_html_is_read_as_far_as_possible(text, expected):
    assert [(record.url, record.title) for record in read(text)] == expected


@pytest.mark.parametrize(
    ("written", "decoded"),
    [
        # None: as written
        ("?id=1&region=eu&notify=1&currency=EUR&section=4&copy=5&times=3", None),
        ("?a=1&amp;b=2&#38;c=3&#x26;d=4", "?a=1&b=2&c=3&d=4"),
        ("?a=&copy;&eacute;&unknown;&reg", "?a=©é&unknown;®"),
        ("?a&b&&c", None),
        ("?q=%26amp%3B&ampx=1&amp", "?q=%26amp%3B&ampx=1&"),
    ],
)
def test_character_references_in_urls_are_read_as_browsers_do(written, decoded):
    [record] = read(f'<A HREF="https://example.com/{written}">A &amp B &copy C</A>')

    assert record.url == f"https://example.com/{decoded or written}"
    assert record.title == "A & B © C"


def test_a_tag_that_is_too_long_is_refused_and_reading_continues():
    records = read(
        '<A HREF="https://a/">a</A>\n<A HREF="'
        + "x" * 400_000
        + '">\n<A HREF="https://b/">b</A>'
    )

    assert records[0].url == "https://a/"
    assert records[1] == InvalidRecord(2, "A tag is longer than 262144 characters.")
    assert records[-1].url == "https://b/"


# Folders


LINK = '<DT><A HREF="https://example.com/">Title</A>\n'


def collections(html):
    """Return the collection of each record, and whether the record is an empty
    folder.
    """
    return [
        (record.collection, isinstance(record, CollectionRecord))
        for record in read(html)
    ]


FOLDERS = {
    "nested": (
        f"<DL><DT><H3>A</H3><DL><DT><H3>B</H3><DL>{LINK}</DL></DL>",
        [("A / B", False)],
    ),
    "a slash in a name": (
        f"<DL><H3>A / B</H3><DL>{LINK}</DL></DL>",
        [("A // B", False)],
    ),
    "empty": ("<DL><DT><H3>A</H3><DL></DL></DL>", [("A", True)]),
    "empty inside": (
        "<DL><H3>A</H3><DL><H3>B</H3><DL></DL></DL></DL>",
        [("A / B", True)],
    ),
    "no end of the heading": (
        f"<DL><DT><H3>A<DL>{LINK}</DL>{LINK}",
        [("A", False), (None, False)],
    ),
    "no name": (f"<DL><DT><H3></H3><DL>{LINK}</DL></DL>", [(None, False)]),
    "an anchor in it": (f"<DL><H3><A NAME='a'>A</A></H3><DL>{LINK}", [("A", False)]),
    "the title of the file": (f"<H1>T</H1><DL>{LINK}</DL>", [(None, False)]),
    "Pocket": (
        f"<h1>A</h1><ul>{LINK}</ul><h1>B</h1><ol>{LINK}</ol>",
        [("A", False), ("B", False)],
    ),
    "a list in a description": (
        f"<DL><H3>A</H3><DL>{LINK}<DD><ul><li>text</DL>{LINK}",
        [("A", False), (None, False)],
    ),
    "lists without headings": ("<DL><DL></DL></DL>", []),
}


@pytest.mark.parametrize(("html", "expected"), FOLDERS.values(), ids=FOLDERS)
def test_folders_are_collections(html, expected):
    assert collections(html) == expected


def test_deep_paths_stay_distinct():
    html = (
        "<DT><H3>A folder</H3><DL>" * 500
        + f"<DT><H3>A</H3><DL>{LINK}</DL><DT><H3>B</H3><DL>{LINK}</DL>"
    )

    first, second = (record.collection for record in read(html))

    assert first != second
    assert len(first) == len(second) == MAX_PATH_LENGTH
    assert shortened(first, 255) != shortened(second, 255)


def test_folders_that_are_too_deep_are_ignored(monkeypatch):
    monkeypatch.setattr(netscape, "MAX_DEPTH", 2)

    html = f"<H3>A</H3><DL><H3>B</H3><DL><H3>C</H3><DL>{LINK}</DL>{LINK}</DL>{LINK}</DL>{LINK}"
    assert collections(html) == [
        ("A / B", False),
        ("A", False),
        (None, False),
        (None, False),
    ]


# Encodings


ENCODED_LINK = '<A HREF="https://example.com/">{}</A>'


def title(data, encoding=None):
    [record] = netscape.read(
        opened(data, encoding and decoding.encoding_name(encoding))
    )
    return record.title


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("gb2312", b"\x81\x30\x81\x30\xb0\xa1", "\x80啊"),
        ("GBK", b"\x80", "\udcff"),
        ("shift_jis", b"\x87\x40\xfa\x4a", "①Ⅰ"),
        ("euc-jp", b"\xc5\xec\x8f\xa2\xaf\xad\xa1", "東˘\udcff\udcff"),
        ("iso-8859-1", b"\x80\x9d", "€\udcff"),
        ("ascii", b"\xe9", "é"),
        ("utf-16", "é".encode("utf-16-le"), "é"),
    ],
)
def test_names_of_encodings_mean_what_they_mean_in_browsers(label, data, text):
    """U+DCFF stands for bytes that Python's codecs cannot decode.

    Browsers decode some of them, as 0x80 in GBK.
    """
    assert (
        decoding.open_text(io.BytesIO(data), decoding.encoding_name(label)).read()
        == text
    )


@pytest.mark.parametrize(
    "label",
    ["", "utf-7", "iso-2022-kr", "x-user-defined", "latin-0", "é", "utf_8_sig"],
)
def test_other_names_of_encodings_are_unknown(label):
    with pytest.raises(ValueError, match="is not the name of an encoding of text"):
        decoding.encoding_name(label)


@pytest.mark.parametrize(
    ("beginning", "name"),
    [
        ('<meta charset="gb2312">', "gb18030"),
        ("<META CHARSET=x-sjis />", "cp932"),
        ("<meta name=a charset = 'koi8-r' >", "koi8-r"),
        (
            (
                '<META HTTP-EQUIV="Content-Type" CONTENT="text/html; '
                'charset=windows-1251">'
            ),
            "cp1251",
        ),
        ("<a title='charset=koi8-r'>charset=koi8-r", None),
        ("<meta charset=unheard-of><meta charset=koi8-u>", "koi8-u"),
        ("<meta charset=utf-16le>", "utf-8"),
        ("<metadata charset=koi8-r>", None),
        ("<meta charset='koi8-r", None),
        ("1 < 2 <meta charset=koi8-r>", "koi8-r"),
        ("", None),
    ],
)
def test_the_encoding_that_html_declares_is_found(beginning, name):
    assert decoding.declared_encoding(beginning.encode()) == name


def test_a_byte_order_mark_overrides_the_given_encoding_which_overrides_the_declared_one():
    declared = b"<meta charset=koi8-u>"

    assert title(declared + ENCODED_LINK.format("ї").encode("koi8-u")) == "ї"
    assert title(declared + ENCODED_LINK.format("é").encode("cp1252"), "latin1") == "é"
    assert title(ENCODED_LINK.format("é").encode("utf-16"), "latin1") == "é"
    assert title(ENCODED_LINK.format("é").encode("utf-8-sig"), "latin1") == "é"
    assert title(b"\xfe\xff" + ENCODED_LINK.format("é").encode("utf-16-be")) == "é"


@pytest.mark.parametrize(("end", "encoding"), [(1024, "koi8-r"), (1025, "utf-8-sig")])
def test_a_declaration_counts_if_it_ends_with_byte_1_024(end, encoding):
    html = b'<meta charset="koi8-r">'.rjust(end)

    assert opened(html).encoding == encoding
