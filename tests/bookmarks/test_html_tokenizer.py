"""HTML as browsers read it, in constant memory and linear time."""

import io
import tracemalloc

import pytest

from bookmarks.files import html_tokenizer, netscape
from bookmarks.files.records import InvalidRecord, Record

pytestmark = pytest.mark.once

BEFORE = '<DL>\n<DT><A HREF="https://example.com/before">Before</A>\n'
AFTER = '\n<DT><A HREF="https://example.com/after">After</A>\n</DL>'


def read(html):
    return list(netscape.read(io.BytesIO(html.encode())))


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("How <style> works", "How <style> works"),
        ("How <script src='&amp;'> works", "How <script src='&'> works"),
        ("<title>a</title> <textarea>", "<title>a</title> <textarea>"),
        ("<plaintext> and <xmp>", "<plaintext> and <xmp>"),
        ("A <b>bold</b> <br/>title", "A bold title"),
        ("A <!-- comment --> here", "A  here"),
        ("<![foo[ x ]]>a", "a"),
        ("<![CDATA[x]]>a", "a"),
        ("<? x ?>a</ x>b</>c", "abc"),
        ("1 < 2 <3 <", "1 < 2 <3 <"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\0b", "ab"),
    ],
)
def test_titles_are_read_as_browsers_do_and_no_link_is_lost(written, title):
    records = read(f'{BEFORE}<DT><A HREF="https://example.com/">{written}</A>{AFTER}')

    assert [(record.url, record.title) for record in records] == [
        ("https://example.com/before", "Before"), ("https://example.com/", title),
        ("https://example.com/after", "After"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "unescaped", ["<style>", "<script>", "<title>", "<plaintext>", "<!--", "<![foo[", "<!x", "<? x", "</ x", "< x", "&"]
)
@pytest.mark.parametrize(
    "around", ["<DT><A HREF='https://example.com/'>a {}</A>", "<DT><H3>{}</H3><DL></DL>", "<DD>{}"]
)
def test_nothing_unescaped_loses_a_later_link(unescaped, around):
    records = read(BEFORE + around.format(unescaped) + AFTER)

    assert [record.url for record in records if isinstance(record, Record)][-1] == "https://example.com/after"


@pytest.mark.parametrize(
    ("tag", "url"),
    [
        ("<A HREF=https://a/>", "https://a/"),
        ("<A HREF = 'https://a/?\"' HREF=https://b/>", 'https://a/?"'),
        ('<A\nHREF\n=\n"https://a/"ADD_DATE=1>', "https://a/"),
        ('<A HREF="https://a/>">', "https://a/>"),
        ("<a/href=https://a/b/c>", "https://a/b/c"),
        ('<a "x href=https://a/>', "https://a/"),
        ("<a =x href=https://a/?&amp;b&lt=c&ltd&lt>", "https://a/?&b&lt=c&ltd<"),
        ("<a href=https://a/\0>", "https://a/\ufffd"),
    ],
)
def test_attributes_are_read_as_browsers_do(tag, url):
    [record] = read(f"{tag}Title</a>")

    assert (record.url, record.title) == (url, "Title")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("&lt;&LT&amp;lt;", "<<&lt;"),
        ("&notit; &notin; &notinx", "¬it; ∉ ¬inx"),
        ("&#128;&#x81;&#xD800;&#0;&#1114112;&#1;&#13;", "€\x81\ufffd\ufffd\ufffd\r"),
        ("&#65&#x41 &#; &#x; &; & &x", "AA &#; &#x; &; & &x"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
        ("&CounterClockwiseContourIntegral;", "∳"),
    ],
)
def test_character_references_are_read_as_browsers_do(written, text):
    assert html_tokenizer.decode(written) == text


def test_comments_between_links_are_skipped():
    assert len(read(f"{BEFORE}<!-- > {AFTER} --!>{AFTER}<!-->{AFTER}")) == 3


def test_a_comment_that_does_not_end_is_reported():
    reason = "A comment begins here and does not end, so the rest of the file cannot be read."

    assert read(f"\n<!-- a\n{AFTER}") == [InvalidRecord(2, reason)]


def test_a_file_that_ends_in_a_tag_is_reported():
    assert read(f'{BEFORE}<DT><A HREF="https://exam')[1:] == [InvalidRecord(3, "The file ends within a tag.")]


def test_what_has_no_place_is_named():
    html = """<DL><DT><A HREF="https://a/" ADD_DATE="1" ICON="data:," TAGS="a,b" PRIVATE="1" TOREAD="0" FEED="">A</A>
    <DD>A <b>description</b> of A
    <DT><A HREF='https://b/' private=0 Shortcuturl=b>B</A>
    <DD>
    <DT><H3>Folder</H3>
    <DD>A folder's description
    <DL></DL>"""

    assert [record.left_out for record in read(html) if isinstance(record, Record)] == [
        ("icon", "tags", "private", "description"), ("shortcuturl",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "hostile",
    [
        "<!--", "<a ", "<a/", "<a href='", "<a b=", "<a b= ", "<h3>", "<dl>", "<h3>a</h3><dl>", "<dd>", "&", "&#", "&a",
        "&#9", "<script>", "<title>", "</", "<!", "<?", " ", "a", '"', "<dt><a href=\"x\"", "</dl>", "</ul>",
    ],
)  # fmt: skip
@pytest.mark.parametrize("prefix", ["", "<DL><DT><A HREF='https://a/'>", "<a b='", "<!--", "<script>", "<H3>"])
def test_hostile_html_is_read_in_linear_time(prefix, hostile):
    """A quadratic reader would need minutes for each of these."""
    assert len(read(prefix + hostile * (300_000 // len(hostile)))) < 70_000


@pytest.mark.parametrize("hostile", ["&a", "a", "<b c='"])
def test_hostile_html_takes_constant_memory(hostile):
    html = ("<H3>" + hostile * (2_000_000 // len(hostile))).encode()

    tracemalloc.start()
    for _ in netscape.read(io.BytesIO(html)):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20 * html_tokenizer.MAX_TAG_LENGTH
