"""Search for files that are dearer to read than they are long.

    python -m tests.benchmarks.file_costs [format ...]

For each format, small files are generated of each of its tokens and of each two
of them, repeated after each of several beginnings: nested, unclosed, or
referring to one another. The worst ones are then read with 1, 2, 4 and 8 MB,
each in a process of its own, and compared with an ordinary file: the time for
each byte should be at most 3 times that of the ordinary file, the memory at most
5 bytes for each byte, and reading must end within a second of a deadline. Files
of records of 3 to 9 bytes take 4 to 5 times as much: a record has a cost of its
own, whatever its length, and the number of refused ones is limited.
"""

import io
import itertools
import resource
import subprocess
import sys
import time
from contextlib import suppress

from bookmarks.files import read
from bookmarks.import_report import Report
from bookmarks.imports import valid_rows
from usergroups.api.throttling import Deadline, TimeLimitExceeded

SMALL = 20_000  # bytes
LIMIT = 60  # seconds
WORST = 3  # files of each format that are read in all sizes

# The ordinary part, the beginnings and the tokens of each format.
FORMATS = {
    "html": (
        '<DT><A HREF="https://example.com/?a=1&amp;b=2" ADD_DATE="1700000000">Title</A>\n',
        [
            "<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>",
            "<DL><DT><A HREF='https://a.example/'>",
            "<DL><DT><A HREF='https://a.example/'>A</A><DD>",
            "<DL><DT><H3>",
            "<a b='",
            "<!--",
        ],
        [
            "<",
            "</",
            "</a",
            "</A>",
            "<a ",
            "<A HREF=a>",
            "<DT>",
            "<DD>",
            "<DL>",
            "</DL>",
            "<H3>a</H3>",
            "<p>",
            "<li>",
            "<x>",
            "<!--",
            "-->",
            "<!",
            ">",
            '"',
            "'",
            "=",
            "&",
            "&a",
            "&#9",
            "a",
            " ",
            "\n",
            "/ ",
        ],
    ),
    "json": (
        '{"url": "https://example.com/?a=1", "title": "Title", "tags": ["a", "b"]},\n',
        ["[", '{"a":[', '["', '[{"children":[', '{"lists":['],
        [
            "[",
            "]",
            "{",
            "}",
            "{},",
            "[],",
            '{"a":',
            '{"url":"http://a"},',
            '{"url":"http://a","lists":[1,2,3,4,5]},',
            '{"id":1,"name":"a","parentId":1},',
            '{"title":"a","children":[',
            '{"name":"A","children":[]},',
            '"a":1,',
            '"",',
            '"',
            "1",
            "1,",
            "\\",
            '\\"',
            " ",
            "null,",
            "/ ",
        ],
    ),
    "jsonl": (
        '{"url": "https://example.com/?a=1", "title": "Title", "tags": ["a", "b"]}\n',
        ["", '{"url":"http://a","a":['],
        [
            "{",
            "[",
            "]",
            "{}\n",
            "[]\n",
            "[],",
            "\n",
            '{"url":"http://a"}\n',
            '{"collection":"a"}\n',
            '{"url":"http://a","tags":"a,b,c"}\n',
            '"',
            "1",
            "\\u0000",
            "a\n",
            " ",
        ],
    ),
    "csv": (
        "https://example.com/?a=1,Title,2023-11-14T22:13:20Z\n",
        ["url,title,created\n", 'url,title,tags\n"', "url,collection\n", '"', "url\n"],
        [
            '"',
            '""',
            ",",
            ";",
            "\n",
            "\r",
            "a",
            'a"b,"c\n',
            '"a\n',
            'a"\n',
            ",a\n",
            "http://a\n",
            "http://a,b\n",
            "http://a,,Tue, 1 Jan\n",
            '"a","b"\n',
            "['a',",
            "|",
        ],
    ),
    "xbel": (
        '<bookmark href="https://example.com/?a=1" added="2023-11-14T22:13:20Z">'
        "<title>Title</title></bookmark>\n",
        ["<xbel>", "<xbel><folder><title>", "<xbel a='", "<!DOCTYPE xbel [", "<!--"],
        [
            "<folder>",
            "</folder>",
            "<folder><title>a</title></folder>",
            '<bookmark href="http://a"/>',
            "<title>",
            "<title></title>",
            "<a/>",
            "<a ",
            "a='' ",
            "&amp;",
            "<!---->",
            "<?a?>",
            "a",
            " ",
            "\n",
            "/ ",
            "<![CDATA[a]]>",
            "<!ELEMENT a ANY>",
        ],
    ),
    "txt": (
        "https://example.com/?a=1 | A title of a page\n",
        [""],
        [
            "[",
            "]",
            "(",
            ")",
            "[a](",
            "[a](http://a",
            "[a](http://a)",
            "http://a\n",
            "a http://a\n",
            "://",
            "<",
            "|",
            "- ",
            "1. ",
            "a",
            " ",
            "\n",
        ],
    ),
}


def content(beginning, part, size):
    text = beginning + part * (size // len(part))
    return text.encode()[:size]


def cost(file_format, data):
    """Read a file as an import does, without a database, and return the CPU
    time for each byte in nanoseconds, the number of records, and the seconds
    after the deadline.
    """
    report = Report()
    deadline = Deadline(LIMIT)
    number = 0
    begin = time.monotonic()
    start = time.process_time()
    with suppress(TimeLimitExceeded), deadline.interrupt():
        for _row in valid_rows(read(io.BytesIO(data), file_format), report, True):
            number += 1
    seconds = time.process_time() - start
    late = max(0, time.monotonic() - begin - LIMIT)
    return seconds / len(data) * 1e9, number + report.refused, late


def search(file_format):
    """Return the beginnings and parts of the files with the dearest bytes."""
    _, beginnings, tokens = FORMATS[file_format]
    parts = [*tokens, *map("".join, itertools.permutations(tokens, 2))]
    found = []
    for beginning, part in itertools.product(beginnings, parts):
        nanoseconds, _, _ = cost(file_format, content(beginning, part, SMALL))
        found.append((nanoseconds, beginning, part))
    return [(beginning, part) for _, beginning, part in sorted(found)[-WORST:]]


def measure(file_format, beginning, part, size):
    """Print what one file costs."""
    data = content(beginning, part, size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    nanoseconds, number, late = cost(file_format, data)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(nanoseconds, number, late, memory / size)


def measured(*arguments):
    """Measure a file in a process of its own."""
    code = f"from tests.benchmarks.file_costs import measure; measure{arguments}"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return [float(number) for number in output.stdout.split()]


def main(arguments):
    for file_format in arguments or FORMATS:
        ordinary, beginnings, _ = FORMATS[file_format]
        files = [(beginnings[0], ordinary), *search(file_format)]
        for size in (1, 2, 4, 8):
            base = None
            for beginning, part in files:
                nanoseconds, number, late, memory = measured(
                    file_format, beginning, part, size * 1_000_000
                )
                base = base or nanoseconds
                print(
                    f"{file_format} {size} MB: {nanoseconds:6.0f} ns a byte, "
                    f"{nanoseconds / base:4.1f} times, {memory:4.1f} bytes a byte, "
                    f"{number:9,.0f} records, {late:.1f} s late: "
                    f"{beginning[-30:]!r} {part[:30]!r}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
