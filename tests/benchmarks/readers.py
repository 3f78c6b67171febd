"""Measure the time for each byte, and the memory, that files of each format and
of several sizes take to read.

    python -m tests.benchmarks.readers [megabytes ...] [format ...]

By default, the files have 1, 10 and 100 MB, which takes some minutes for each
format. Some are like those that programs write. The others try to make the
reader slow: the time for each byte must be about the same for all sizes. A
process of its own generates each file on the disk and reads it piece by piece,
so that the measured memory is that of the reader.
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
ARTICLE = "<p>Text</p>" * 9_000

INPUTS = {
    "html": {
        "links": ("<DL>", lambda n: LINK.format(n=n, more="")),
        "links with icons": ("<DL>", lambda n: LINK.format(n=n, more=ICON)),
        "links with descriptions": (
            "<DL>",
            lambda n: LINK.format(n=n, more="") + f"<DD>Text of <b>{n}</b>\n",
        ),
        "links in single quotes": (
            "<DL>",
            lambda n: LINK.replace('"', "'").format(n=n, more=""),
        ),
        "links in folders": (
            "<DL>",
            lambda n: f"<DT><H3>{n}</H3>\n<DL>\n{LINK.format(n=n, more='')}</DL>\n",
        ),
        "<": ("", "<"),
        "<a ": ("", "<a "),
        '<a href="': ("", '<a href="'),
        "<a b='": ("", "<a b='"),
        "one attribute": ("<a href='", "a"),
        "one title": ("<a href='https://example.com/'>", "a"),
        "<!--": ("", "<!--"),
        "a comment": ("<!--", "--"),
        "a script": ("<script>", "</scrip"),
        "&": ("<a href='https://example.com/'>", "&"),
        "&#9": ("<a href='https://example.com/'>", "&#9"),
        "<dt>": ("", "<dt>"),
        "<p> in a title": ("<a href='https://example.com/'>", "<p>"),
        "</>": ("", "</>"),
        "<DL>": ("", "<DL>"),
        "</DL>": ("<DL>", "</DL>"),
        "<H3>": ("", "<H3>"),
        "folders in folders": ("", "<H3>Folder</H3><DL>"),
        "spaces": ("", " "),
        "quotes": ("<a ", '"'),
    },
    "jsonl": {
        "links": (
            "",
            lambda n: f'{{"url": "https://example.com/{n}", "title": "Article {n}"}}\n',
        ),
        "other keys": (
            "",
            lambda n: f'{{"url": "https://example.com/{n}", "{n}": 1}}\n',
        ),
        "one line": ("", "{"),
    },
    "json": {
        "links": (
            "[",
            lambda n: (
                f'{{"url": "https://example.com/{n}", "title": "Article {n}", "tags": '
                '["a"]},\n'
            ),
        ),
        "links in folders": (
            '{"title": "", "children":[',
            lambda n: (
                f'{{"title": "{n}", "children": [{{"uri": "https://example.com/{n}", '
                '"annos": [{"a": 1}]}]},'
            ),
        ),
        "articles": (
            "[",
            lambda n: (
                f'{{"url": "https://example.com/{n}", "content": "{ARTICLE}"}},\n'
            ),
        ),
        "long articles": (
            "[",
            lambda n: (
                f'{{"url": "https://example.com/{n}", "content": "{3 * ARTICLE}"}},\n'
            ),
        ),
        "[": ("", "["),
        '{"a":': ("", '{"a":'),
        "quotes": ("[", '"'),
        "empty strings": ("[", '"",'),
        "empty objects": ("[", "{},"),
        "links without names around": ('[{"children":[', '{"url":"x"},'),
        "one string of umlauts": ('["', "ä"),
        "one string": ('["', "a"),
        "one string of escapes": ('["', '\\"'),
        "one number": ("[", "1"),
        "one fraction": ("[1.", "1"),
        "keys": ("[{", lambda n: f'"{n}":1,'),
        "spaces": ("[", " "),
        "folders in folders": ("[", '{"children":[' * 40 + "]}" * 40 + ","),
    },
    "csv": {
        "links": ("url,title\n", lambda n: f"https://example.com/{n},Article {n}\n"),
        "links in quotes": (
            "url,title\n",
            lambda n: f'"https://example.com/{n}","Article ""{n}"""\n',
        ),
        "notes": (
            "url,title,note\n",
            lambda n: f'https://example.com/{n},Article {n},"Text\nof a ""note"""\n',
        ),
        "an open quote before links": (
            'url,title\n"',
            lambda n: f"https://example.com/{n},Article {n}\n",
        ),
        "open quotes in links": (
            "url,title\n",
            lambda n: f'https://example.com/{n},"Article {n}\n',
        ),
        "quotes": ("url,title\n", '"'),
        "quotes on lines": ("url,title\n", '"\n'),
        "quotes and commas on lines": ("url,title\n", '","\n'),
        "quotes and many lines": ("url,title\n", 'a,"' + "\nabc" * 10_000 + "\n"),
        "one cell": ('url,title\n"', "a"),
        "one cell of lines": ('url,title\n"', "\n"),
        "commas": ("url,title\n", ","),
    },
}
"""The files of each format by name: the text with which a file begins, and the
part that follows again and again.

The part is a string, or a function that returns one for each of the numbers 0,
1, 2 and so on.
"""


class GeneratedFile(io.RawIOBase):
    """A file that is generated while it is read."""

    def __init__(self, beginning, part, size):
        # Repeat short strings beforehand. To join them one by one would take
        # longer than to read them.
        if callable(part):
            parts = map(part, itertools.count())
        else:
            parts = itertools.repeat(part * (4096 // len(part) + 1))
        self.parts = itertools.chain([beginning], parts)
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
    sizes = [int(argument) for argument in arguments if argument.isdecimal()] or [
        1,
        10,
        100,
    ]
    for format_name in [
        argument for argument in arguments if argument in INPUTS
    ] or INPUTS:
        for name in INPUTS[format_name]:
            for size in sizes:
                code = (
                    f"from tests.benchmarks.readers import measure; measure({format_name!r}, "
                    f"{name!r}, {size * 10**6})"
                )
                result = subprocess.run(
                    [sys.executable, "-c", code],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                print(
                    f"{format_name}, {name}, {size} MB: {result.stdout.strip()}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
