"""Measure the time for each byte, and the memory, that files of each format and
of several sizes take to read.

    python -m tests.benchmarks.readers [megabytes ...] [format ...]

By default, the files have 1, 10 and 100 MB, which takes some minutes for each
format. They are like those that programs write; ``file_costs`` tries to make the
readers slow. A process of its own generates each file on the disk and reads it
piece by piece, so that the measured memory is that of the reader.

In ns of CPU time for each byte of 100 MB: 99 for HTML, 48 for JSON Lines, 44 for
CSV, 162 for JSON, and 339 for JSON with folders. They took at most 5 MiB of
memory, except JSON with folders, which takes 3 to 5 bytes for each byte.
"""

import io
import itertools
import resource
import subprocess
import sys
import time
from contextlib import suppress

from bookmarks.files import UnreadableFile, read
from bookmarks.files.decoding import read_chunks
from bookmarks.imports import copied

LINK = (
    '    <DT><A HREF="https://example.com/{n}?page=1&amp;x=2" '
    'ADD_DATE="1700000000"{more}>Article {n}</A>\n'
)
ICON = f' ICON="data:image/png;base64,{"iVBORw0KGgo" * 150}="'
OBJECT = '{{"url": "https://example.com/{n}", "title": "Article {n}", "tags": ["a"]}}'
ARTICLE = "<p>Text</p>" * 9_000

INPUTS = {
    "html": {
        "links": ("<DL>", lambda n: LINK.format(n=n, more="")),
        "links with icons": ("<DL>", lambda n: LINK.format(n=n, more=ICON)),
        "links with descriptions": (
            "<DL>",
            lambda n: LINK.format(n=n, more="") + f"<DD>Text of <b>{n}</b>\n",
        ),
        "links in folders": (
            "<DL>",
            lambda n: f"<DT><H3>{n}</H3>\n<DL>\n{LINK.format(n=n, more='')}</DL>\n",
        ),
    },
    "jsonl": {
        "links": ("", lambda n: OBJECT.format(n=n) + "\n"),
        "other keys": ("", lambda n: f'{{"url": "https://a/{n}", "{n}": 1}}\n'),
    },
    "json": {
        "links": ("[", lambda n: OBJECT.format(n=n) + ","),
        "links in folders": (
            "[",
            lambda n: f'{{"title": "{n}", "children": [{OBJECT.format(n=n)}]}},',
        ),
        "articles": (
            "[",
            lambda n: f'{{"url": "https://a/{n}", "content": "{ARTICLE}"}},\n',
        ),
    },
    "csv": {
        "links": ("url,title\n", lambda n: f"https://example.com/{n},Article {n}\n"),
        "notes": (
            "url,title,note\n",
            lambda n: f'https://example.com/{n},Article {n},"Text\nof a ""note"""\n',
        ),
    },
    "xbel": {
        "links": (
            "<xbel>",
            lambda n: (
                f'<bookmark href="https://example.com/{n}"><title>Article {n}</title>'
                "</bookmark>\n"
            ),
        ),
    },
    "txt": {"links": ("", lambda n: f"https://example.com/{n} | Article {n}\n")},
}
"""The files of each format by name: the text with which a file begins, and a
function that returns the next part for each of the numbers 0, 1, 2 and so on.
"""


class GeneratedFile(io.RawIOBase):
    """A file that is generated while it is read."""

    def __init__(self, beginning, part, size):
        self.parts = itertools.chain([beginning], map(part, itertools.count()))
        self.remaining = size
        self.buffer = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        size = min(len(buffer), self.remaining)
        while len(self.buffer) < size:
            self.buffer += "".join(itertools.islice(self.parts, 32)).encode()
        buffer[:size] = self.buffer[:size]
        self.buffer = self.buffer[size:]
        self.remaining -= size
        return size


def measure(format_name, name, size):
    """Read a file and print the CPU time for each byte in nanoseconds, the
    additional memory and the records.
    """
    beginning, part = INPUTS[format_name][name]
    generated = io.BufferedReader(GeneratedFile(beginning, part, size), 1 << 20)
    records = 0
    with copied(read_chunks(generated)) as file:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        with suppress(UnreadableFile):
            for _ in read(file, format_name):
                records += 1
    nanoseconds = (time.process_time() - start) / size * 1e9
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{nanoseconds:.0f} ns, {memory:.0f} MiB, {records:,} records")


def main(arguments):
    sizes = [int(argument) for argument in arguments if argument.isdecimal()]
    formats = [argument for argument in arguments if argument in INPUTS]
    for format_name in formats or INPUTS:
        for name, size in itertools.product(INPUTS[format_name], sizes or [1, 10, 100]):
            call = f"measure({format_name!r}, {name!r}, {size * 10**6})"
            code = f"from tests.benchmarks.readers import measure; {call}"
            print(f"{format_name}, {name}, {size} MB: ", end="", flush=True)
            subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
