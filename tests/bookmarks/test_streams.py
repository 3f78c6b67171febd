"""Files as streams: pipes, compressed, damaged, large and binary files.

Also formats by file name, and refusals.
"""

import errno
import gzip
import io

import pytest

from bookmarks.files import guess_format, positions
from bookmarks.files.decompression import UnreadableFile
from bookmarks.files.importing import read
from bookmarks.files.report import Refusal
from usergroups.api.bodies import CHUNK_SIZE

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
DAMAGED = "The compressed file is damaged. What was read of it may contain errors."
EARLY = "The compressed file ends too early."


class Stream(io.RawIOBase):
    """A file like a pipe: it is not seekable, returns at most ``size`` bytes
    at a time, and may end with ``error``.
    """

    def __init__(self, content, size=1000, error=None):
        self.file, self.size, self.error = io.BytesIO(content), size, error

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.file.read(min(len(buffer), self.size))
        if not data and self.error:
            raise self.error
        buffer[: len(data)] = data
        return len(data)


def records(file, name, **options):
    """Return the records of a file, and why it could not be read to its end."""
    found = []
    try:
        for record in read(file, name, **options):
            found.append(record)  # an exception must not lose those before it
    except UnreadableFile as error:
        return found, str(error)
    return found, None


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("size", [1, 1000])
def test_a_stream_is_read_in_pieces_of_any_size(name, size):
    content = FILES[name][:20_000].rpartition(b"\n")[0]
    found, error = records(Stream(content, size), name)

    assert error is None
    assert found == records(io.BytesIO(content), name)[0]
    assert len(found) > 200


@pytest.mark.parametrize("name", FILES)
def test_a_compressed_file_is_recognized_by_its_content(name):
    content = FILES[name]
    # A file of gzip may have several members, and zeros at its end.
    members = (
        gzip.compress(content[:50_001])
        + gzip.compress(b"")
        + gzip.compress(content[50_001:])
        + bytes(512)
    )

    assert records(Stream(members), name) == records(io.BytesIO(content), name)


@pytest.mark.parametrize("name", FILES)
def test_the_beginning_of_a_line_is_not_read_as_a_line(name):
    """The limit is a few bytes after the first chunk, at different places of a
    line.
    """
    whole, _ = records(io.BytesIO(FILES[name]), name)

    for limit in range(CHUNK_SIZE + 1, CHUNK_SIZE + 60, 4):
        found, error = records(io.BytesIO(FILES[name]), name, limit=limit)
        assert error.startswith("The file is larger than")
        assert found == whole[: len(found)]


def test_damage_of_a_compressed_file_is_reported_instead_of_invalid_json():
    compressed = gzip.compress(b'[{"url": "https://example.com/"},\n' + b" " * 100_000)

    found, error = records(io.BytesIO(compressed[:-8]), "json")

    assert ([record.url for record in found], error) == (
        ["https://example.com/"],
        EARLY,
    )


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda data: data[:-8], EARLY),
        (lambda data: data[: len(data) // 2], EARLY),
        (lambda data: data[:12], EARLY),
        (lambda data: data + b"garbage", DAMAGED),
        (lambda data: data[:-8] + bytes(8), DAMAGED),
    ],
    ids=[
        "no checksum",
        "half",
        "only the beginning",
        "garbage at the end",
        "wrong checksum",
    ],
)
def test_a_damaged_file_is_read_up_to_the_damage(name, damage, error):
    whole = records(io.BytesIO(FILES[name]), name)[0]
    compressed = gzip.compress(FILES[name])

    found, reason = records(Stream(damage(compressed)), name)

    assert reason == error
    assert found == whole[: len(found)]
    # The share of the records that are found is about the share of the file
    # that is left.
    assert len(found) > len(whole) * (len(damage(compressed)) / len(compressed) - 0.1)


@pytest.mark.parametrize("name", FILES)
def test_an_incomplete_last_line_is_not_read_if_an_error_follows(name):
    position = FILES[name].index(b"/4321")
    stream = Stream(
        FILES[name][: position + len("/43")],
        error=OSError(errno.EIO, "Input/output error"),
    )

    found, reason = records(stream, name)

    assert reason == "The file cannot be read: Input/output error."
    assert [record.url for record in found] == [
        f"https://example.com/{n}" for n in range(4321)
    ]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "compress",
    [
        pytest.param(bytes, id="not compressed"),
        pytest.param(gzip.compress, id="compressed"),
    ],
)
def test_the_size_after_decompression_can_be_limited(name, compress):
    content = FILES[name]
    file = compress(content)
    all_records, no_error = records(io.BytesIO(file), name)

    assert records(io.BytesIO(file), name, limit=len(content)) == (
        all_records,
        no_error,
    )
    found, reason = records(io.BytesIO(file), name, limit=len(content) // 2)
    assert (
        reason == f"The file is larger than {len(content) // 2} bytes when it is "
        "decompressed."
    )
    assert found == all_records[: len(found)]
    # about half of the rows, without those of the last chunk
    assert len(found) > ROWS * 0.4


def test_a_small_file_that_decompresses_to_a_large_one_is_not_read_to_its_end():
    member = gzip.compress(b"x" * 1_000_000)
    # a megabyte, which decompresses to a gigabyte
    file = Stream(member * 1000, size=10**6)

    assert (
        records(file, "jsonl", limit=10**7)[1]
        == "The file is larger than 10000000 bytes when it is decompressed."
    )
    assert file.file.tell() < 1_000_000


@pytest.mark.parametrize(
    "beginning",
    [
        b"PK\x03\x04",
        b"BZh91AY&SY",
        b"\xfd7zXZ\0",
        b"7z\xbc\xaf\x27\x1c",
        b"SQLite format 3\0",
        b"mozLz40\0",
        b"bplist00",
        b"%PDF-1.7",
    ],
)
def test_a_binary_file_is_reported_once(beginning):
    found, reason = records(io.BytesIO(beginning + FILES["csv"]), "csv")

    assert (
        reason
        == "The file is an archive or another binary file. Only text and gzip can be "
        "read."
    )
    assert found == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.html.gz", "html"),
        ("a.HTM.GZ", "html"),
        ("a.csv.gz", "csv"),
        ("a.gz", None),
        ("a.csv.zip", None),
        ("csv", None),
        ("", None),
    ],
)
def test_the_format_of_a_compressed_file_is_the_extension_before_the_last(
    name, expected
):
    assert guess_format(name) == expected


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
