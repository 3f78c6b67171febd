"""Reading, storing and writing files of bookmarks."""

import io
import json
import tracemalloc
from datetime import UTC, datetime

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookmarks.files import EXPORT_FORMATS, FORMATS, importing, netscape
from bookmarks.files.exporting import load
from bookmarks.files.records import InvalidRecord, Record, parse_date
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import imported, refusals
from tests.queries import queries_of
from tests.usergroups.factories import UserGroupFactory

URL = "https://example.com/"


def read(name, text):
    data = text if isinstance(text, bytes) else text.encode()
    return list(FORMATS[name].read(io.BytesIO(data)))


def stored(user_group):
    return {
        (bookmark.url, bookmark.title, bookmark.collection and bookmark.collection.name, bookmark.created_at)
        for bookmark in Bookmark.objects.filter(user_group=user_group).select_related("collection")
    }


def store(user_group, *records, collection=None):
    report = imported(user_group, records, collection)
    return report.created, report.existing, refusals(report)


# Netscape's format

FIREFOX = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'"></meta>
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks Menu</H1>

<DL><p>
    <DT><A HREF="https://example.com/1?a=1&amp;b=2" ADD_DATE="1700000000" ICON="data:,">R&amp;D &lt;1&gt;</A>
    <DD>A description
    <HR>
    <DT><H3 ADD_DATE="1700000000" PERSONAL_TOOLBAR_FOLDER="true">Toolbar</H3>
    <DL><p>
        <DT><A HREF="https://example.com/2" ADD_DATE="1700000000123">In a folder</A>
        <DT><H3>Deep</H3>
        <DL><p>
            <DT><A HREF="https://example.com/3" ADD_DATE="1700000000123456">Deeper</A>
        </DL><p>
        <DT><A HREF="https://example.com/4">After it</A>
    </DL><p>
    <DT><A HREF="https://example.com/5">At the end</A>
</DL>
"""


def test_an_export_of_firefox_is_read():
    records = read("html", FIREFOX)

    seconds = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert [(record.url, record.title, record.collection, parse_date(record.created_at)) for record in records] == [
        ("https://example.com/1?a=1&b=2", "R&D <1>", None, seconds),
        ("https://example.com/2", "In a folder", "Toolbar", seconds.replace(microsecond=123000)),
        ("https://example.com/3", "Deeper", "Toolbar / Deep", seconds.replace(microsecond=123456)),
        ("https://example.com/4", "After it", "Toolbar", None),
        ("https://example.com/5", "At the end", None, None),
    ]
    assert records[0].line == 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("<A HREF=https://a/>b</A>", [("https://a/", "b")], id="no quotes"),
        pytest.param("<a href='https://a/'>b</a>", [("https://a/", "b")], id="single quotes"),
        pytest.param('<A HREF="https://a/">b', [("https://a/", "b")], id="not closed"),
        pytest.param('<A HREF="https://a/">b\n  <DT><A HREF="https://c/">d', [("https://a/", "b"), ("https://c/", "d")],
                     id="closed by the next"),
        pytest.param('<A HREF="https://a/">b</DL></DL></DL><A HREF="https://c/">d</A>',
                     [("https://a/", "b"), ("https://c/", "d")], id="too many ends"),
        pytest.param('<A HREF=" https://a/ ">1 < 2 &amp b</A>', [("https://a/", "1 < 2 & b")], id="bare characters"),
        pytest.param('<A HREF="https://a/"><b>b</b>old</A>', [("https://a/", "bold")], id="tags in a title"),
        pytest.param('<A>b</A><A NAME="x">c</A>', [], id="no address"),
        pytest.param("just text < & >", [], id="no bookmarks"),
        pytest.param("", [], id="empty"),
        pytest.param('<A HREF="https://a/" ADD_DATE="x" ADD_DATE="99999999999999999999">b</A>', [("https://a/", "b")],
                     id="a date that is none"),
        pytest.param('\ufeff<A HREF="https://a/">b</A>', [("https://a/", "b")], id="byte order mark"),
    ],
)  # fmt: skip
def test_malformed_html_is_read_as_far_as_possible(text, expected):
    assert [(record.url, record.title) for record in read("html", text)] == expected


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?id=1&region=eu&notify=1&currency=EUR&section=4&copy=5&times=3", None),
        ("?a=1&amp;b=2&#38;c=3&#x26;d=4", "?a=1&b=2&c=3&d=4"),
        ("?a=&copy;&eacute;&unknown;&reg", "?a=©é&unknown;®"),
        ("?a&b&&c", None),
        ("?q=%26amp%3B&ampx=1&amp", "?q=%26amp%3B&ampx=1&"),
    ],
)
def test_character_references_in_urls_are_read_as_browsers_do(written, meant):
    [record] = read("html", f'<A HREF="https://example.com/{written}">A &amp B &copy C</A>')

    assert record.url == f"https://example.com/{meant or written}"
    assert record.title == "A & B © C"


def test_a_tag_that_is_too_long_is_refused_and_reading_continues():
    records = read("html", '<A HREF="https://a/">a</A>\n<A HREF="' + "x" * 400_000 + '">\n<A HREF="https://b/">b</A>')

    assert records[0].url == "https://a/"
    assert records[1] == InvalidRecord(2, "A tag is longer than 262144 characters.")
    assert records[-1].url == "https://b/"


def test_a_link_that_crosses_a_block_boundary_is_read():
    text = " " * 65_530 + '<A HREF="https://example.com/ü">A title</A>'

    [record] = read("html", text)

    assert (record.url, record.title) == ("https://example.com/ü", "A title")


# JSON Lines and CSV


def test_json_lines_are_read():
    text = '\ufeff{"url": "https://a/", "title": "b", "collection": "c", "created_at": "2026-01-01T00:00:00Z"}\r\n'
    text += '\n{"url": "https://d/"}\n{\n[1]\n{"url": "\\u0000"}'

    assert read("jsonl", text)[:2] == [
        Record(1, "https://a/", "b", "c", "2026-01-01T00:00:00Z"),
        Record(3, "https://d/", None, None, None),
    ]
    assert [(type(record), record.line) for record in read("jsonl", text)[2:]] == [
        (InvalidRecord, 4), (InvalidRecord, 5), (InvalidRecord, 6),
    ]  # fmt: skip


def test_a_line_that_is_too_long_is_refused_and_reading_continues():
    records = read("jsonl", b" " * 3_000_000 + b'\n{"url": "https://a/"}\n')

    assert records[0] == InvalidRecord(1, "The line is longer than 1048576 bytes.")
    assert records[1] == Record(2, "https://a/", None)


def test_csv_is_read():
    text = '\ufeffcollection,other,url,title\n,x,https://a/,"b ""c"",\nd"\nE,,https://f/\n\n'

    assert read("csv", text) == [
        Record(2, "https://a/", 'b "c",\nd', "", left_out=("other",)),
        Record(4, "https://f/", None, "E"),
    ]


@pytest.mark.parametrize("first", ["url", "URL", " Url "])
def test_csv_columns_are_case_insensitive(first):
    assert read("csv", f"{first}, Title\nhttps://a/,b\n") == [Record(2, "https://a/", "b")]


@pytest.mark.parametrize("first", ["address", "address;title", "https://a/"])
def test_a_csv_file_without_a_url_column_is_refused_once(first):
    reason = "The header has no column named url, uri, href or link, so no bookmarks can be read."

    assert read("csv", f"{first}\nhttps://b/\n") == [InvalidRecord(1, reason)]


# Storing


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (Record(1, None), "url is not text."),
        (Record(1, ""), "The URL has no scheme such as https://."),
        (Record(1, "javascript:void(0)"), "The URL is neither http nor https."),
        (Record(1, "javascript:void(0)".ljust(9000, ";")), "The URL is neither http nor https."),
        (Record(1, "example.com"), "The URL has no scheme such as https://."),
        (Record(1, URL.ljust(8001, "a")), "The URL is longer than 8000 characters."),
        (Record(1, URL, 1), "title is not text."),
        (Record(1, URL, "a\0"), "title contains U+0000."),
        (Record(1, URL, "\udcff"),
         "title cannot be decoded. If the file has another encoding, give it, for example windows-1252."),
        (Record(1, URL, "", 1), "collection is not text."),
        (InvalidRecord(1, "Not CSV: x."), "Not CSV: x."),
    ],
)  # fmt: skip
def test_invalid_records_are_refused_and_the_others_stored(user_group, record, reason):
    assert store(user_group, record, Record(2, "https://b/")) == (1, 0, [(1, reason)])
    assert Bookmark.objects.get().url == "https://b/"


def test_a_title_that_is_too_long_is_shortened_and_told(user_group):
    report = imported(user_group, [Record(1, URL, "a" * 1000), Record(2, "https://b/", "b" * 1001)])

    assert (report.created, report.refused, report.shortened) == (2, 0, 1)
    assert list(report.remarks) == ["In 1 place, a title or the name of a collection was too long and was shortened."]
    assert {bookmark.title for bookmark in Bookmark.objects.all()} == {"a" * 1000, "b" * 999 + "…"}


def test_refusals_are_grouped_by_reason(user_group):
    records = [InvalidRecord(number, f"Reason {number % 150}.") for number in range(1, 2001)]

    report = imported(user_group, records)

    first, *_, other = report.refusals
    assert (first.reason, first.count, first.lines) == ("Reason 1.", 14, [1 + 150 * n for n in range(10)])
    assert (other.reason, other.lines) == ("Other reasons.", [*range(101, 111)])
    assert len(report.refusals) == 101
    assert report.refused == sum(refusal.count for refusal in report.refusals) == 2000


def test_records_are_stored_with_their_collections_and_dates(user_group):
    time = datetime(2020, 2, 29, 12, tzinfo=UTC)
    CollectionFactory(user_group=user_group, name="There")
    CollectionFactory(name="New")

    outcome = store(
        user_group,
        Record(1, "https://a/", "\\.\t\n\r\\N", "There", time),
        Record(2, "https://b\\c", "", "New", "2020-02-29T14:00:00+02:00"),
        Record(3, "https://d/", "ü", None, "2020-02-29T12:00:00"),
    )

    assert outcome == (3, 0, [])
    assert stored(user_group) == {
        ("https://a/", "\\.\t\n\r\\N", "There", time),
        ("https://b\\c", "", "New", time),
        ("https://d/", "ü", None, time),
    }
    for bookmark in Bookmark.objects.all():
        found = Bookmark.objects.with_url(bookmark.url).get()
        assert found == bookmark


def test_existing_bookmarks_are_not_changed(user_group):
    there = BookmarkFactory(user_group=user_group, url="https://EXAMPLE.com", title="There")

    outcome = store(user_group, Record(1, URL, "Other"), Record(2, "https://b/"), Record(3, "HTTPS://b", "Twice"))

    assert outcome == (1, 2, [])
    assert set(Bookmark.objects.values_list("url", "title")) == {(there.url, "There"), ("https://b/", "")}


def test_the_first_of_duplicates_in_a_file_is_stored(user_group):
    assert store(user_group, Record(1, URL, "First"), Record(2, URL, "Second")) == (1, 1, [])
    assert Bookmark.objects.get().title == "First"


def test_a_given_collection_replaces_those_of_the_file(user_group):
    collection = CollectionFactory(user_group=user_group)

    store(user_group, Record(1, URL, "", "Other"), Record(2, "https://b/", "", 1), collection=collection)

    assert {bookmark.collection for bookmark in Bookmark.objects.all()} == {collection}
    assert Collection.objects.count() == 1


@pytest.mark.parametrize("chunk_size", [1, 2, 20])
def test_the_size_of_chunks_does_not_change_the_result(user_group, monkeypatch, chunk_size):
    monkeypatch.setattr(importing, "ROWS_PER_TRANSACTION", chunk_size)
    records = [Record(n, f"https://example.com/{n // 2}", "", f"Collection {n % 6 // 2}") for n in range(30)]

    first, second = store(user_group, *records), store(user_group, *records)

    urls = {(record.url, record.collection) for record in records}
    assert first == (len(urls), 30 - len(urls), [])
    assert second == (0, 30, [])
    assert {(url, name) for url, _, name, _ in stored(user_group)} == urls


@pytest.mark.parametrize("chunk_size", [3, 21])
def test_an_import_adds_what_is_missing(user_group, monkeypatch, chunk_size):
    monkeypatch.setattr(importing, "ROWS_PER_TRANSACTION", chunk_size)
    records = [Record(n, f"https://example.com/{n // 4}", "", [None, "A", "B", "C"][n % 4]) for n in range(60)]
    some = [record for record in records if record.line % 7 in (0, 3)]
    store(user_group, *some)

    outcome = store(user_group, *records)

    assert outcome == (60 - len(some), len(some), [])
    assert {(url, name) for url, _, name, _ in stored(user_group)} == {(r.url, r.collection) for r in records}


@pytest.mark.parametrize("existing", [0, 1000])
def test_a_chunk_takes_few_statements(user_group, existing):
    records = [Record(n, f"https://example.com/{n}", "", f"Collection {n % 3}") for n in range(1000)]
    store(user_group, *records[:existing])

    queries = [sql for sql in queries_of(lambda: store(user_group, *records)) if "INTO" in sql or "FROM" in sql]

    inserts = [sql for sql in queries if sql.startswith('INSERT INTO "bookmarks_bookmark"')]
    # Look up the collections by name, and if some are missing, insert them and look them up again.
    assert len(queries) - len(inserts) == (1 if existing else 3)
    assert len(inserts) == 1 or connection.vendor == "sqlite"


def test_a_chunk_is_read_before_a_transaction_begins(user_group):
    def records():
        for n in range(importing.ROWS_PER_TRANSACTION + 1):
            assert len(connection.savepoint_ids) == outer
            yield Record(n, f"{URL}{n}")

    outer = len(connection.savepoint_ids)
    assert imported(user_group, records()).created == importing.ROWS_PER_TRANSACTION + 1


@pytest.mark.parametrize("number", [0, 1, 3])
def test_digests_are_found_by_a_list_and_by_a_query(user_group, number):
    bookmarks = BookmarkFactory.create_batch(3, user_group=user_group)[:number]
    digests = Bookmark.objects.filter(pk__in=[bookmark.pk for bookmark in bookmarks]).values_list("url_digest")

    by_list = Bookmark.objects.filter(url_digest__in=[digest for (digest,) in digests])
    by_query = Bookmark.objects.filter(url_digest__in=digests)

    assert set(by_list) == set(by_query) == set(bookmarks)


# Writing


def exported(user_group, name):
    return "".join(EXPORT_FORMATS[name].write(load(user_group)))


@pytest.fixture
def bookmarks(user_group):
    """Bookmarks in two collections and in none."""
    one, two = (CollectionFactory(user_group=user_group, name=name) for name in ('A "quoted" <name>', " spaced / ü "))
    for place, url, title in [
        (None, "https://example.com/?a=1&b=%22<>'\"", "<b>R&amp;D</b>"),
        (None, "https://example.com/ü", ""),
        (one, "https://example.com/", " spaced\tand\nbroken "),
        (two, "https://example.com/", "\"quoted\", \\ 'too'"),
        (two, "http://a\\b", "\N{GRINNING FACE}"),
    ]:
        BookmarkFactory(user_group=user_group, collection=place, url=url, title=title)
    BookmarkFactory()


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


moments = st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment < datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("name", EXPORT_FORMATS)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    title=text,
    collection=st.none() | text.filter(len),
    moment=moments,
)
def test_exports_preserve_any_text_and_time(user_group, name, title, collection, moment):
    Bookmark.objects.all().delete()
    Collection.objects.all().delete()
    store(user_group, Record(1, URL, title, collection, moment))
    other = UserGroupFactory()

    outcome = store(other, *read(name, exported(user_group, name)))

    assert outcome == (1, 0, [])
    assert stored(other) == stored(user_group) == {(URL, title, collection, moment)}


def test_html_exports_have_dates_in_seconds(user_group):
    BookmarkFactory(user_group=user_group, created_at=datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC))

    assert 'ADD_DATE="1700000000"' in exported(user_group, "html")


def test_a_json_lines_export_has_an_object_on_each_line(user_group, bookmarks):
    lines = [json.loads(line) for line in exported(user_group, "jsonl").splitlines()]

    assert len(lines) == 5
    assert all(line.keys() == {"url", "title", "collection", "created_at"} for line in lines)


def test_deeply_nested_folders_take_little_memory():
    html = b"<h3>" + b"a" * 990 + b"</h3><dl>" + b"<h3>a</h3><dl>" * 20_000

    tracemalloc.start()
    list(netscape.read(io.BytesIO(html)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 10 * len(html)
