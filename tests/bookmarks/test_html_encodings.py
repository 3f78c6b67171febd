"""Encodings of files, by the Encoding Standard."""

import io

import pytest
from playwright.sync_api import sync_playwright

from bookmarks.files import encodings, netscape
from bookmarks.files.records import Record
from tests.admin.browser import CHROMIUM, needs_chromium
from tests.bookmarks.test_files import store

LINK = '<A HREF="https://example.com/">{}</A>'


def title(data, encoding=None):
    [record] = netscape.read(io.BytesIO(data), encoding)
    return record.title


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("gb2312", b"\x81\x30\x81\x30\xb0\xa1", "\x80啊"),
        ("GBK", b"\x80", "\udcff"),
        ("shift_jis", b"\x87\x40\xfa\x4a", "①Ⅰ"),
        ("x-sjis", b"\x83\x65", "テ"),
        ("x-mac-roman", b"\x8e", "é"),
        ("windows-874", b"\xa1\x81", "ก\udcff"),
        ("ks_c_5601-1987", b"\x81\x41", "갂"),
        ("euc-jp", b"\xc5\xec\x8f\xa2\xaf\xad\xa1", "東˘\udcff\udcff"),
        ("big5", b"\xa4\x40", "一"),
        ("iso-8859-1", b"\x80\x9d", "€\udcff"),
        ("ascii", b"\xe9", "é"),
        ("windows-1253", b"\xaa", "\udcff"),
        ("utf-16", "é".encode("utf-16-le"), "é"),
        ("unicode-1-1-utf-8", "é".encode(), "é"),
    ],
)
def test_labels_are_those_of_browsers(label, data, text):
    assert encodings.open_text(io.BytesIO(data), label).read() == text


@pytest.mark.parametrize("label", ["", "utf-7", "iso-2022-kr", "x-user-defined", "latin-0", "é", "utf_8_sig"])
def test_other_labels_are_unknown(label):
    with pytest.raises(ValueError, match="is not the name of an encoding of text"):
        encodings.lookup(label)


@pytest.mark.parametrize(
    ("beginning", "name"),
    [
        ('<meta charset="gb2312">', "gbk"),
        ("<META CHARSET=x-sjis />", "shift_jis"),
        ("<meta name=a charset = 'koi8-r' >", "koi8-r"),
        ('<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=windows-1251">', "windows-1251"),
        ('<META CONTENT="text/html; charset=windows-1251" HTTP-EQUIV="content-type">', "windows-1251"),
        ("<meta http-equiv=content-type content='charset charset = \"koi8-u\"'>", "koi8-u"),
        ('<meta content="charset=koi8-r">', "koi8-r"),
        ("<!-- <meta charset=koi8-r> --><meta charset=koi8-u>", "koi8-u"),
        ("<!--><meta charset=koi8-r>", "koi8-r"),
        ("<!-- <meta charset=koi8-r>", None),
        ("<? <meta charset=koi8-r><meta charset=koi8-u>", "koi8-u"),
        ("<a title='charset=koi8-r'>charset=koi8-r", None),
        ("<meta charset=koi8-r charset=koi8-u>", "koi8-r"),
        ("<meta charset=unheard-of><meta charset=koi8-u>", "koi8-u"),
        ("<meta charset=utf-16le>", "utf-8"),
        ("<metadata charset=koi8-r>", None),
        ("</meta charset=koi8-r>", None),
        ("<meta charset='koi8-r", None),
        ("1 < 2 <meta charset=koi8-r>", "koi8-r"),
        ('<?xml version="1.0" encoding="koi8-r"?>', "koi8-r"),
        ("", None),
    ],
)
def test_the_declaration_is_found(beginning, name):
    assert encodings.declared_in_html(beginning.encode()) == name


def test_a_byte_order_mark_goes_before_what_is_given_and_this_before_what_the_file_declares():
    declared = b"<meta charset=koi8-u>"

    assert title(declared + LINK.format("ї").encode("koi8-u")) == "ї"
    assert title(declared + LINK.format("é").encode("cp1252"), "latin1") == "é"
    assert title(LINK.format("é").encode("utf-16"), "latin1") == "é"
    assert title(LINK.format("é").encode("utf-8-sig"), "latin1") == "é"
    assert title(b"\xfe\xff" + LINK.format("é").encode("utf-16-be")) == "é"


def test_a_declaration_after_1024_bytes_has_no_effect():
    assert title(b" " * 1010 + b"<meta charset=koi8-r>" + LINK.format("é").encode()) == "é"


def test_characters_that_an_encoding_lacks_are_told(user_group):
    links = LINK.encode().replace(b"{}", b"\xad\xa1") + LINK.encode().replace(b"com/", b"com/2")
    data = b"<meta charset=euc-jp>" + links

    created, _, refusals = store(user_group, *netscape.read(io.BytesIO(data)))

    reason = "title cannot be decoded. If the file has another encoding, give it, for example windows-1252."
    assert (created, refusals) == (1, [(1, reason)])


def test_the_encoding_of_text_without_a_declaration_can_be_given(user_group):
    data = (LINK.format("é") + LINK.replace("com/", "com/2").format("e")).encode("cp1252")

    created, _, refusals = store(user_group, *netscape.read(io.BytesIO(data)))

    reason = "title cannot be decoded. If the file has another encoding, give it, for example windows-1252."
    assert (created, refusals) == (1, [(1, reason)])
    assert [record.title for record in netscape.read(io.BytesIO(data), "windows-1252")] == ["é", "e"]


class Trickle(io.RawIOBase):
    """A pipe that has one byte at a time."""

    def __init__(self, data):
        self.bytes = iter(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        for byte in self.bytes:
            buffer[0] = byte
            return 1
        return 0


def test_a_slow_pipe_is_read():
    data = (" " * 2000 + LINK.format("é")).encode("utf-16")

    assert [type(record) for record in netscape.read(Trickle(data))] == [Record]
    assert title(data) == "é"


DECODE = """names => names.map(([name, first, last]) => {
    const decoder = new TextDecoder(name);
    const texts = [];
    for (let lead = first; lead <= last; lead++)
        for (let trail = 0x40; trail < 0x100; trail++)
            texts.push(decoder.decode(new Uint8Array(lead < 0x80 ? [trail] : [lead, trail])));
    return texts;
})"""
SINGLE_BYTE = [
    "ibm866", *(f"iso-8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)), "koi8-r", "koi8-u",
    "macintosh", "windows-874", *(f"windows-{page}" for page in range(1250, 1259)), "x-mac-cyrillic",
]  # fmt: skip
DOUBLE_BYTE = {"gbk": 20, "big5": 207, "euc-jp": 463, "shift_jis": 0, "euc-kr": 0}
"""Double-byte encodings, with the number of characters that are not as in browsers, or fewer with another Python.

Control characters do not count.
"""


@pytest.mark.once
@needs_chromium
def test_characters_are_those_of_a_browser():
    names = [*((name, 0, 0) for name in SINGLE_BYTE), *((name, 0x81, 0xFE) for name in DOUBLE_BYTE)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        decoded = browser.new_page().evaluate(DECODE, names)
        browser.close()

    differences = {}
    for (name, first, last), texts in zip(names, decoded, strict=True):
        codes = [bytes([lead, trail][not lead :]) for lead in range(first, last + 1) for trail in range(0x40, 0x100)]
        ours = [code.decode(encodings.codec(name), "replace") for code in codes]
        valid = [
            (text, our)
            for text, our in zip(texts, ours, strict=True)
            if "\ufffd" not in text and not "\x80" <= text < "\xa0"
        ]
        differences[name] = sum(text != our for text, our in valid)

    most = {**dict.fromkeys(SINGLE_BYTE, 0), "koi8-u": 2, "windows-1255": 1, **DOUBLE_BYTE}
    assert {name: number for name, number in differences.items() if number > most[name]} == {}
    assert differences.keys() == most.keys()
