"""Opening files: ZIPs, binary files and files in other formats.

Also formats by file name, and refusals.
"""

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bookmarks.files import UnreadableFile, guess_format, read
from tests.documents import ROOT

ROWS = b"".join(b"https://example.com/%d,Title\n" % n for n in range(6000))
CSV = b"url,title\n" + ROWS
INPUTS = Path(__file__).parent / "inputs"


def zipped(*files, compression=zipfile.ZIP_DEFLATED):
    """Return a ZIP that contains files with these names and contents."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", compression) as written:
        for name, content in files:
            written.writestr(name, content)
    return archive.getvalue()


def test_the_only_file_in_a_zip_is_read():
    archive = zipped(
        ("folder/", b""), ("folder/Links.csv", CSV), ("__MACOSX/folder/._a", b"x")
    )

    found = list(read(io.BytesIO(archive), name="a.zip", limit=len(CSV)))

    assert found == list(read(io.BytesIO(CSV), "csv"))


DAMAGED = "The ZIP is damaged or encrypted."
SEVERAL = (
    "A ZIP must contain one file. Unpack it and import the file with the bookmarks, "
    "never the whole ZIP, because it may contain passwords."
)
BOMB = zipped(("a.jsonl", b" " * 10**8))
FEW_BYTES = zipped(("a.csv", CSV))
ZIPS = {
    "two files": (zipped(("a.csv", b"url\n"), ("b.csv", b"url\n")), SEVERAL),
    "no file": (zipped(("folder/", b"")), SEVERAL),
    "many files": (zipped(*((f"{n}.csv", b"") for n in range(1001))), SEVERAL),
    "large": (BOMB, "The file in the ZIP is larger than 1000000 bytes."),
    "cut": (FEW_BYTES[:-30], DAMAGED),
    # The offset of the directory, the last but two bytes, is wrong.
    "wrong offset": (FEW_BYTES[:-6] + b"\xff\xff\xff\x7f" + FEW_BYTES[-2:], DAMAGED),
    "damaged": (FEW_BYTES[:100] + b"damage" + FEW_BYTES[106:], DAMAGED),
    # A flag says that it is encrypted.
    "encrypted": (
        FEW_BYTES.replace(b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1"),
        DAMAGED,
    ),
    # The size is wrong in both places.
    "wrong size": (
        BOMB.replace((10**8).to_bytes(4, "little"), (10).to_bytes(4, "little")),
        DAMAGED,
    ),
    "another method": (
        zipped(("a.csv", b"url\n"), compression=zipfile.ZIP_LZMA),
        DAMAGED,
    ),
}


@pytest.mark.parametrize(("content", "reason"), ZIPS.values(), ids=ZIPS)
def test_other_zips_are_refused(content, reason):
    with pytest.raises(UnreadableFile) as error:
        list(read(io.BytesIO(content), "csv", limit=10**6))

    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a.html a.HTM", "html"),
        ("Bookmarks Default/Bookmarks Default/Bookmarks.bak", "json"),
        ("OneTab.TXT links.md", "txt"),
        ("a.gz a.csv.zip csv", None),
    ],
)
def test_the_format_is_that_of_the_extension_or_of_the_profile_of_chrome(
    names, expected
):
    assert {guess_format(name) for name in names.split()} == {expected}


HTML = "Export the bookmarks as HTML in the program, and import that file."
UNPACK = "Unpack it, and import the file with the bookmarks."
AGAIN = "Export the bookmarks again."
AS_LIST = "Put each URL on a line of its own, and import it as a list of URLs (.txt)."
OPML = b'<?xml version="1.0"?>\n<opml><body><outline text="A"/></body></opml>'
PLIST = b"""<?xml version="1.0"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "">
<plist><dict/></plist>"""
ADR = b"""Opera Hotlist version 2.0
Options: encoding = utf8, version=3

#URL
\tNAME=A
"""
REFUSALS = {
    "OPML": (OPML, "OPML", HTML),
    "property list": (PLIST, "a property list (.plist)", HTML),
    "binary property list": (b"bplist00\xd1", "a property list (.plist)", HTML),
    "XML": (b'<?xml version="1.0"?>\n<feed></feed>', "XML", HTML),
    "jsonlz4": (
        b"mozLz40\0\x11",
        "a backup of Firefox (.jsonlz4)",
        "In Firefox, open Manage Bookmarks, choose Import and Backup, Export Bookmarks "
        "to HTML, and import that file.",
    ),
    "places.sqlite": (
        b"SQLite format 3\0",
        "a database, such as places.sqlite of Firefox",
        HTML,
    ),
    "xlsx": (
        zipped(("[Content_Types].xml", b"x"), ("xl/workbook.xml", b"x")),
        "an Excel file",
        "Save it as CSV in the spreadsheet, and import that file.",
    ),
    "xls": (
        b"\xd0\xcf\x11\xe0\xa1\xb1",
        "an Excel file",
        "Save it as CSV in the spreadsheet, and import that file.",
    ),
    "PDF": (b"%PDF-1.7\n", "PDF", HTML),
    "gzip": (b"\x1f\x8b\x08", "a compressed file or an archive", UNPACK),
    "bzip2": (b"BZh91AY&SY", "a compressed file or an archive", UNPACK),
    "xz": (b"\xfd7zXZ\0", "a compressed file or an archive", UNPACK),
    "7z": (b"7z\xbc\xaf\x27\x1c", "a compressed file or an archive", UNPACK),
    "adr": (ADR, "a hotlist of Opera (.adr)", HTML),
    "Org": (b"#+title: Links\n* A heading\n", "Org", AS_LIST),
    "Markdown": (b"# Links\n\nNothing here.\n", "Markdown", AS_LIST),
    "empty": (b"", "an empty file", AGAIN),
    "blank": (b"\n \n", "an empty file", AGAIN),
    "PNG": (b"\x89PNG\r\n\x1a\n", "an image", HTML),
    "JPEG": (b"\xff\xd8\xff\xe0", "an image", HTML),
    "text": (b"Some text", "plain text", HTML),
    "web page": (b"<!DOCTYPE html><html><p>Text</html>", "HTML", HTML),
    "JSON": (b'["https://example.com/"]', "JSON", HTML),
    "header of CSV": (b"url,title\n", "CSV", HTML),
}
"""Files that cannot be imported: their content, what they look like, and the
advice.
"""


@pytest.mark.parametrize(("content", "kind", "advice"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_says_what_to_do(content, kind, advice):
    with pytest.raises(UnreadableFile) as error:
        list(read(io.BytesIO(content)))

    expected = f"No bookmarks found. The file looks like {kind}. {advice}"
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("name", "content", "right"),
    [
        ("html", b"url,title\nhttps://example.com/,A\n", "csv"),
        ("html", (INPUTS / "small.xbel").read_bytes(), "xbel"),
        ("csv", (INPUTS / "small.xbel").read_text().encode("utf-16"), "xbel"),
        ("html", b'[{"url": "https://example.com/"}]', "json"),
        ("html", b"https://example.com/", "txt"),
        ("csv", b"<DL><DT><A HREF='https://example.com/'>A</A></DL>", "html"),
    ],
)
def test_a_file_in_the_wrong_format_is_refused_with_the_right_one(name, content, right):
    with pytest.raises(UnreadableFile) as error:
        list(read(io.BytesIO(content), name))

    assert str(error.value).endswith(f" Import it in the format {right}.")


READ = """
blank_first_line.csv, https://a.example/1, One, None
excel_sep.csv, https://a.example/1, One, None
end_tag_in_title.html, https://p.example/1, What is </dev/null in bash?, None
end_tag_in_title.html, https://p.example/2, Next, None
links.md, https://a.example/1, One, None
links.md, https://a.example/2, Two, None
links.md, https://a.example/3, , None
onetab.txt, https://a.example/1, One, None
onetab.txt, https://a.example/2, , None
onetab.txt, https://a.example/3, A | B, None
small.xbel, https://a.example/1?x=1&y=2, One, Tools & more
small.xbel, https://a.example/2, Two, Tools & more / Inner
small.xbel, https://a.example/3, None, None
"""
"""The names of files that were not read once, and the URLs, titles and
collections of their records.
"""


def test_files_that_failed_are_read():
    found = []
    for name in dict.fromkeys(re.findall(r"^[\w.]+", READ, re.MULTILINE)):
        with (INPUTS / name).open("rb") as file:
            for record in read(file):
                values = name, record.url, record.title, record.collection
                found.append(", ".join(map(str, values)))
    assert found == READ.strip().split("\n")


def test_the_records_of_a_file_are_printed_without_django():
    script = (
        "import sys, runpy; runpy.run_module('bookmarks.files', run_name='__main__')"
    )
    script += "; sys.exit('django' in sys.modules)"

    result = subprocess.run(
        [sys.executable, "-c", script, INPUTS / "small.xbel"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    first, *_others = map(json.loads, result.stdout.splitlines())
    assert (first["type"], first["url"], first["note"]) == (
        "Record",
        "https://a.example/1?x=1&y=2",
        "A note",
    )
