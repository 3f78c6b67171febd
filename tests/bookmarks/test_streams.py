"""Opening files: ZIPs, binary files and files in other formats.

Also formats by file name, and refusals.
"""

import io
import zipfile

import pytest

from bookmarks.files import guess_format, positions
from bookmarks.files.content import UnreadableFile, open_content
from bookmarks.files.importing import read
from bookmarks.files.report import Refusal

ROWS = 6000
FILES = {
    "csv": (
        b"url,title\n"
        + b"".join(b"https://example.com/%d,Title %d\n" % (n, n) for n in range(ROWS))
    ),
    "jsonl": b"".join(
        b'{"url": "https://example.com/%d", "title": "Title %d"}\n' % (n, n)
        for n in range(ROWS)
    ),
    "html": (
        b"<DL><p>\n"
        + b"".join(
            b'    <DT><A HREF="https://example.com/%d">Title %d</A>\n' % (n, n)
            for n in range(ROWS)
        )
        + b"</DL><p>\n"
    ),
}


def records(file, name, limit=None):
    content, _ = open_content(file, f"a.{name}", limit)
    return list(read(content, name))


def zipped(*files, compression=zipfile.ZIP_DEFLATED):
    """Return a ZIP that contains files with these names and contents."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", compression) as written:
        for name, content in files:
            written.writestr(name, content)
    return archive.getvalue()


@pytest.mark.parametrize("name", FILES)
def test_the_only_file_in_a_zip_is_read(name):
    content = FILES[name]
    archive = zipped(
        ("folder/", b""),
        (f"folder/Links.{name}", content),
        (f"__MACOSX/folder/._Links.{name}", b"x"),
    )

    opened, opened_name = open_content(io.BytesIO(archive), "a.zip", len(content))

    assert opened_name == f"folder/Links.{name}"
    assert list(read(opened, name)) == records(io.BytesIO(content), name)


BOMB = zipped(("a.jsonl", b" " * 10**8))
FEW_BYTES = zipped(("a.csv", FILES["csv"]))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            zipped(("a.csv", b"url\n"), ("b.csv", b"url\n")),
            "A ZIP must contain one file, but this one contains 2.",
        ),
        (
            zipped(("folder/", b"")),
            "A ZIP must contain one file, but this one contains 0.",
        ),
        (
            zipped(*((f"{number}.csv", b"") for number in range(1001))),
            "A ZIP must contain one file, but this one contains 1001.",
        ),
        (BOMB, "The file in the ZIP is larger than 1000000 bytes."),
        (FEW_BYTES[:-30], "The ZIP is damaged or encrypted."),
        (
            # The offset of the directory, the last but two bytes, is wrong.
            FEW_BYTES[:-6] + b"\xff\xff\xff\x7f" + FEW_BYTES[-2:],
            "The ZIP is damaged or encrypted.",
        ),
        (
            # A flag says that the name is UTF-8.
            FEW_BYTES.replace(b"a.csv", b"\xff.csv").replace(
                b"PK\1\2\x14\3\x14\0\0\0", b"PK\1\2\x14\3\x14\0\0\x08"
            ),
            "The ZIP is damaged or encrypted.",
        ),
        (FEW_BYTES.replace(b"a.csv", b"\0.csv"), "The ZIP is damaged or encrypted."),
        (
            FEW_BYTES[:100] + b"damage" + FEW_BYTES[106:],
            "The ZIP is damaged or encrypted.",
        ),
        (
            # A flag says that it is encrypted.
            FEW_BYTES.replace(b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1"),
            "The ZIP is damaged or encrypted.",
        ),
        (
            # The size is wrong in both places.
            BOMB.replace((10**8).to_bytes(4, "little"), (10).to_bytes(4, "little")),
            "The ZIP is damaged or encrypted.",
        ),
        (
            zipped(("a.csv", b"url\n"), compression=zipfile.ZIP_LZMA),
            "The ZIP is damaged or encrypted.",
        ),
    ],
    ids=[
        "two files",
        "no file",
        "many files",
        "large",
        "cut",
        "wrong offset",
        "invalid name",
        "empty name",
        "damaged",
        "encrypted",
        "wrong size",
        "another method",
    ],
)
def test_other_zips_are_refused(content, reason):
    with pytest.raises(UnreadableFile) as error:
        records(io.BytesIO(content), "csv", limit=10**6)

    assert str(error.value) == reason


@pytest.mark.parametrize(
    "beginning",
    [
        b"\x1f\x8b",
        b"BZh91AY&SY",
        b"\xfd7zXZ\0",
        b"7z\xbc\xaf\x27\x1c",
        b"SQLite format 3\0",
        b"mozLz40\0",
        b"bplist00",
        b"%PDF-1.7",
    ],
)
def test_a_binary_file_is_refused(beginning):
    with pytest.raises(UnreadableFile) as error:
        records(io.BytesIO(beginning + FILES["csv"]), "csv")

    reason = "The file is binary. Only text, or a ZIP of it, can be read."
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.html", "html"),
        ("a.HTM", "html"),
        ("folder/a.csv", "csv"),
        ("Bookmarks", "json"),
        ("Default/Bookmarks", "json"),
        ("a.gz", None),
        ("a.csv.zip", None),
        ("csv", None),
        ("", None),
    ],
)
def test_the_format_is_that_of_the_extension_or_of_the_profile_of_chrome(
    name, expected
):
    assert guess_format(name) == expected


XBEL = """<?xml version="1.0"?>
<!DOCTYPE xbel PUBLIC "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN">
<xbel><bookmark href="https://example.com/"><title>A</title></bookmark></xbel>
"""
ADR = """Opera Hotlist version 2.0
Options: encoding = utf8, version=3

#URL
\tNAME=A
\tURL=https://example.com/
"""


@pytest.mark.parametrize(
    ("name", "content", "description"),
    [
        ("html", b"url,title\nhttps://example.com/,A\n", "CSV"),
        ("html", XBEL.encode(), "XBEL"),
        ("html", XBEL.encode("utf-16"), "XBEL"),
        ("html", ADR.encode(), ".adr"),
        ("html", b'[{"url": "https://example.com/"}]', "JSON"),
        ("html", b"<!DOCTYPE html><html><p>Text</html>", "HTML"),
        ("html", b"https://example.com/", "plain text"),
        ("html", b"", "plain text"),
        ("json", b'["https://example.com/"]', "JSON"),
        ("jsonl", b"\n\n", "plain text"),
        ("csv", b"url,title\n", "CSV"),
    ],
)
def test_a_file_without_bookmarks_is_unreadable_and_described(
    name, content, description
):
    with pytest.raises(UnreadableFile) as error:
        records(io.BytesIO(content), name)

    reason = f"No bookmarks found. The file looks like {description}."
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (Refusal("", 1, [3]), ["bookmark 3", "line 3"]),
        (Refusal("", 2, [3, 4]), ["bookmarks 3, 4", "lines 3, 4"]),
        (
            Refusal("", 5, [3, 4]),
            ["bookmarks 3, 4 and 3 more", "lines 3, 4 and 3 more"],
        ),
    ],
)
def test_refusals_name_bookmarks_of_json_files_and_lines_of_others(refusal, expected):
    assert [positions(name, refusal) for name in ("json", "jsonl")] == expected
    assert positions("csv", refusal) == positions("html", refusal) == expected[1]
