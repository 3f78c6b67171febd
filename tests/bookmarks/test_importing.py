"""Storing the records of a file: what is refused, what is stored, and what an
update changes.
"""

import re
import time
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import connection, transaction

from bookmarks import imports, web_url
from bookmarks.files.dates import parse_date
from bookmarks.files.records import CollectionRecord, InvalidRecord, Record
from bookmarks.models import Bookmark, Collection
from bookmarks.querysets import row_writes
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import chunks_of_two, imported, refusals  # noqa: F401
from tests.clock import Clock
from tests.queries import (
    concurrently,
    deadlock,
    on_another_connection,
    queries_of,
)
from tests.signals import expected, recorded
from tests.usergroups.factories import UserGroupFactory
from usergroups.api.throttling import Deadline
from usergroups.events import Event

URL = "https://example.com/"

# The arguments of a Record are its line in the file, the URL, the title, the
# collection and the date.


def stored_bookmarks(user_group):
    return {
        (
            bookmark.url,
            bookmark.title,
            bookmark.collection and bookmark.collection.name,
            bookmark.created_at,
        )
        for bookmark in Bookmark.objects.filter(user_group=user_group).select_related(
            "collection"
        )
    }


def store(user_group, *records, collection=None):
    """Import the records.

    Return the numbers of created and existing bookmarks, and the refusals:
    lines and reasons.
    """
    report = imported(user_group, records, collection)
    return report.created, report.existing, refusals(report)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (Record(1, None), "The URL is not text."),
        (Record(1, ""), "The URL has no scheme such as https://."),
        (Record(1, "javascript:void(0)"), "The URL is neither http nor https."),
        (
            Record(1, "javascript:void(0)".ljust(9000, ";")),
            "The URL is neither http nor https.",
        ),
        (Record(1, "example.com"), "The URL has no scheme such as https://."),
        (Record(1, URL.ljust(8001, "a")), "The URL is longer than 8000 characters."),
        (Record(1, URL, "a\0"), "title contains U+0000."),
        (
            Record(1, URL, "\udcff"),
            (
                "title cannot be decoded. If the file is not in UTF-8, name its "
                "encoding."
            ),
        ),
        (InvalidRecord(1, "Not CSV: x."), "Not CSV: x."),
    ],
)
def test_invalid_records_are_refused_and_the_others_stored(user_group, record, reason):
    assert store(user_group, record, Record(2, "https://b/")) == (1, 0, [(1, reason)])
    assert Bookmark.objects.get().url == "https://b/"


def test_a_title_that_is_too_long_is_shortened_and_reported(user_group):
    report = imported(
        user_group, [Record(1, URL, "a" * 1000), Record(2, "https://b/", "b" * 1001)]
    )

    assert (report.created, report.refused, report.shortened) == (2, 0, 1)
    assert list(report.remarks) == [
        "Texts and tags that were too long, too many or invalid, and were shortened: 1."
    ]
    assert {bookmark.title for bookmark in Bookmark.objects.all()} == {
        "a" * 1000,
        "b" * 999 + "…",
    }


def test_records_are_stored_with_their_collections_and_dates(user_group):
    time = datetime(2020, 2, 29, 12, tzinfo=UTC)
    CollectionFactory(user_group=user_group, name="Existing")
    CollectionFactory(name="New")  # of another group

    outcome = store(
        user_group,
        Record(1, "https://a/", "\\.\t\n\r\\N", "Existing", time.isoformat()),
        Record(2, "https://b\\c", "", "New", "2020-02-29T14:00:00+02:00"),
        Record(3, "https://d/", "ü", None, "2020-02-29T12:00:00"),
    )

    assert outcome == (3, 0, [])
    assert stored_bookmarks(user_group) == {
        ("https://a/", "\\.\t\n\r\\N", "Existing", time),
        ("https://b\\c", "", "New", time),
        ("https://d/", "ü", None, time),
    }
    for bookmark in Bookmark.objects.all():
        assert Bookmark.objects.get(url_digest=web_url.digest(bookmark.url)) == bookmark


def test_existing_bookmarks_are_not_changed(user_group):
    existing = BookmarkFactory(
        user_group=user_group, url="https://EXAMPLE.com", title="Old"
    )

    outcome = store(
        user_group,
        Record(1, URL, "Other"),
        Record(2, "https://b/"),
        Record(3, "HTTPS://b", "Twice"),
    )

    assert outcome == (1, 2, [])
    assert set(Bookmark.objects.values_list("url", "title")) == {
        (existing.url, "Old"),
        ("https://b/", ""),
    }


@pytest.mark.parametrize(("existing", "expected_number"), [(0, 4), (1000, 2)])
def test_a_chunk_takes_few_statements(user_group, existing, expected_number):
    records = [
        Record(n, f"https://example.com/{n}", "", f"Collection {n % 3}")
        for n in range(1000)
    ]
    store(user_group, *records[:existing])

    queries = [
        sql
        for sql in queries_of(lambda: store(user_group, *records))
        if "INTO" in sql or "FROM" in sql
    ]

    inserts = [sql for sql in queries if 'INTO "bookmarks_bookmark"' in sql]
    # Look up the collections by name, and if some are missing, insert them and
    # look them up again. In the end, insert the event.
    assert len(queries) - len(inserts) == expected_number
    assert len(inserts) == 1


# Updates


OLD = datetime(2020, 1, 1, tzinfo=UTC)
NEW = datetime(2021, 1, 1, tzinfo=UTC)


def update(user_group, *records, collection=None):
    return imported(user_group, records, collection, update=True)


@pytest.fixture
def bookmark(user_group):
    return BookmarkFactory(
        user_group=user_group, url=URL, title="Old", created_at=OLD, updated_at=OLD
    )


@pytest.mark.parametrize(
    ("title", "date", "stored"),
    [
        ("New", None, ("New", OLD)),
        ("", NEW.isoformat(), ("Old", NEW)),
        ("New", NEW.isoformat(), ("New", NEW)),
        ("Old", "nonsense", ("Old", OLD)),
        (None, 0, ("Old", OLD)),
        ("Old", OLD.isoformat(), ("Old", OLD)),
    ],
)
def test_an_update_writes_the_titles_and_dates_of_the_file(
    user_group, bookmark, title, date, stored
):
    of_another_group = BookmarkFactory(
        url=URL, title="Other", created_at=OLD, updated_at=OLD
    )

    report = update(user_group, Record(1, "HTTPS://EXAMPLE.com", title, None, date))

    is_updated = stored != ("Old", OLD)
    counts = (report.created, report.updated, report.existing)
    assert counts == (0, is_updated, not is_updated)
    bookmark.refresh_from_db()
    of_another_group.refresh_from_db()
    assert (bookmark.title, bookmark.created_at) == stored
    assert (bookmark.updated_at > OLD) == is_updated
    assert (bookmark.url, of_another_group.title) == (URL, "Other")


@pytest.mark.parametrize("chunk_size", [1, 2, 500])
@pytest.mark.parametrize("exists", [True, False])
def test_the_last_title_and_date_in_a_file_are_stored(
    user_group, monkeypatch, chunk_size, exists
):
    monkeypatch.setattr(imports, "ROWS_PER_TRANSACTION", chunk_size)
    if exists:
        BookmarkFactory(user_group=user_group, url=URL)
    report = update(
        user_group,
        Record(1, URL, "First", None, OLD.isoformat()),
        Record(2, URL, "Last"),
        Record(3, URL, "", None, NEW.isoformat()),
    )

    assert report.created + report.updated + report.existing == 3
    [stored] = Bookmark.objects.all()
    assert (stored.title, stored.created_at) == ("Last", NEW)


def test_an_update_adds_tags_and_fills_an_empty_note(user_group, bookmark):
    noted = BookmarkFactory(user_group=user_group, url=f"{URL}n", note="Old")
    Bookmark.objects.filter(pk=bookmark.pk).update(tags=["a", "B"])

    with recorded() as sent:
        report = update(
            user_group,
            Record(1, URL, tags=["b", "c"], note="New"),
            Record(2, URL, tags=["d"], note="Newer"),
            Record(3, noted.url, note="New"),
        )

    assert (report.updated, report.existing) == (1, 2)
    bookmark.refresh_from_db()
    noted.refresh_from_db()
    assert (bookmark.tags, bookmark.note) == (["a", "B", "c", "d"], "New")
    assert noted.note == "Old"
    assert sent == [expected("updated", bookmark, fields={"tags", "note"})]


def test_tags_that_an_update_cannot_add_are_reported(user_group, bookmark):
    tags = [str(n) for n in range(50)]
    Bookmark.objects.filter(pk=bookmark.pk).update(tags=tags[1:])

    report = update(
        user_group,
        Record(1, URL, tags=["a", "b"]),
        Record(2, URL, tags=["c"]),
        Record(3, f"{URL}new", tags=tags),
        Record(4, f"{URL}new", tags=["a", "1"]),
    )

    assert (report.created, report.updated, report.shortened) == (1, 1, 3)
    stored = Bookmark.objects.order_by("url").values_list("tags", flat=True)
    assert list(stored) == [[*tags[1:], "a"], tags]


@pytest.mark.parametrize(
    ("tags", "stored", "shortened"),
    [
        ([" a ", "a"], ["a"], 0),
        (["a" * 101], ["a" * 100], 1),
        (["a\nb", "\0"], ["a b"], 2),
        ([str(n) for n in range(52)], [str(n) for n in range(50)], 2),
    ],
    ids=["trimmed", "long", "control characters", "many"],
)
def test_tags_are_cleaned_and_shortened(user_group, tags, stored, shortened):
    report = imported(user_group, [Record(1, URL, tags=tags)])

    assert Bookmark.objects.get().tags == stored
    assert (report.created, report.shortened) == (1, shortened)


@pytest.mark.parametrize(("different", "statements"), [(0, 1), (3, 2)])
def test_an_update_locks_the_bookmarks_and_writes_those_that_differ(
    user_group, different, statements
):
    BookmarkFactory.create_batch(5, user_group=user_group, title="Old")
    urls = Bookmark.objects.order_by("pk").values_list("url", flat=True)
    titles = ["New"] * different + ["Old"] * (5 - different)
    records = [
        Record(n, url, title)
        for n, (url, title) in enumerate(zip(urls, titles, strict=True))
    ]

    queries = queries_of(lambda: update(user_group, *records))

    of_bookmarks = [sql for sql in queries if "bookmarks_bookmark" in sql]
    assert of_bookmarks[0].startswith("SELECT")
    assert len(of_bookmarks) == statements


@pytest.mark.django_db(transaction=True)
def test_an_update_includes_a_bookmark_that_was_created_meanwhile(user_group):
    insert = (
        "INSERT INTO bookmarks_bookmark (id, user_group_id, url, url_digest, title, "
        f"tags, note, created_at, updated_at) VALUES ('{uuid4()}', {user_group.pk}, "
        f"'{URL}', sha256('{URL}'), 'Old', '', '', now(), now())"
    )

    with concurrently("INSERT", insert):
        report = update(user_group, Record(1, URL, "New"))

    assert Bookmark.objects.get().title == "New"
    assert (report.created, report.updated) == (0, 1)


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no statistics"
)
@pytest.mark.parametrize(
    ("number", "allowed", "analyses"),
    [(4, -1, 1), (4, 10**9, 0), (1, -1, 0)],
    ids=["outdated", "up to date", "one chunk"],
)
def test_a_large_update_analyses_an_outdated_table_once(
    user_group, monkeypatch, number, allowed, analyses
):
    monkeypatch.setattr(imports, "ROWS_PER_TRANSACTION", 1)
    monkeypatch.setattr(row_writes, "MAX_MISSED", allowed)
    records = [Record(n, f"{URL}{n}") for n in range(number)]

    statements = queries_of(lambda: update(user_group, *records))

    kinds = [sql.split()[0] for sql in statements]
    assert kinds.count("ANALYZE") == analyses


def test_each_bookmark_gets_its_own_values_exactly(user_group):
    """One statement sets the fields of all of them.

    Applications are not told of new dates.
    """
    titles = ["\"'\\ \\u0041 %s {}", "é 😀 \u2028", " \t\n"]
    time = datetime(2021, 1, 1, 12, 30, 45, 123456, tzinfo=UTC)
    values = {
        f"{URL}{n}": {
            "title": title,
            "created_at": time.replace(second=n),
            "tags": [f"{n},;", '"', "\\x00"],
            "note": f"{title}\r\n{n}",
        }
        for n, title in enumerate(titles)
    }
    for url in values:
        BookmarkFactory(user_group=user_group, url=url, title="Old")

    with recorded() as sent:
        report = update(
            user_group,
            *(
                Record(
                    1,
                    url,
                    each["title"],
                    None,
                    each["created_at"].isoformat(),
                    tags=each["tags"],
                    note=each["note"],
                )
                for url, each in values.items()
            ),
        )

    assert report.updated == 3
    rows = Bookmark.objects.order_by("url")
    stored = {
        row.url: {name: getattr(row, name) for name in values[row.url]} for row in rows
    }
    assert stored == values
    assert len({row.updated_at for row in rows}) == 1
    [signal] = sent
    assert signal.arguments["fields"] == {"title", "tags", "note"}
    announced = {row.pk: row.updated_at for row in signal.arguments["instances"]}
    assert announced == {row.pk: row.updated_at for row in rows}


def test_a_bookmark_whose_url_changes_before_the_update_locks_it_is_kept(
    user_group, bookmark
):
    def change_url(execute, sql, params, many, context):
        if "FOR UPDATE" in sql and "bookmarks_bookmark" in sql:
            Bookmark.objects.update_by_id(
                user_group, str(bookmark.pk), url=f"{URL}elsewhere"
            )
        return execute(sql, params, many, context)

    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    with connection.execute_wrapper(change_url):
        report = update(user_group, Record(1, URL, "New"))

    assert (report.created, report.updated, report.existing) == (1, 0, 0)
    bookmark.refresh_from_db()
    assert (bookmark.url, bookmark.title) == (f"{URL}elsewhere", "Old")


@pytest.mark.django_db(transaction=True)
def test_an_update_is_retried_after_a_deadlock():
    """Another transaction locks the last bookmark, and then waits for the
    first one, which the update has locked.
    """
    user_group = UserGroupFactory()
    first = BookmarkFactory(user_group=user_group, title="Old")
    last = BookmarkFactory(user_group=user_group, title="Old")

    def lock_first(using):
        list(Bookmark.objects.using(using).filter(pk=first.pk).select_for_update())

    locked = Bookmark.objects.filter(pk=last.pk).select_for_update()
    with deadlock(
        'SELECT "bookmarks_bookmark"', locked, lock_first, ending="FOR UPDATE"
    ):
        report = update(
            user_group, Record(1, first.url, "New"), Record(2, last.url, "New")
        )

    assert report.updated == 2
    assert set(Bookmark.objects.values_list("title", flat=True)) == {"New"}


def test_an_import_outlives_an_error_of_its_event(user_group, monkeypatch):
    def fail(*args):
        with connection.cursor() as cursor:
            cursor.execute("SELECT no_such_column")

    monkeypatch.setattr(imports, "record_events", fail)
    with transaction.atomic():
        report = imported(user_group, [Record(1, URL)])

    assert report.created == 1
    assert stored_bookmarks(user_group)


def test_the_event_of_an_import_has_no_text_that_a_database_refuses(user_group):
    imported(user_group, [Record(1, f"{URL}\0", "\udcff")])

    assert f"1,{URL}\ufffd,\ufffd,url" in Event.objects.get().refused_lines


# Conflicts


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("chunks_of_two")
def test_a_collection_that_is_deleted_while_a_chunk_is_read_is_recreated(user_group):
    def records():
        for n in range(6):
            if n == 3:
                on_another_connection(Collection.objects.all().delete)
            yield Record(n, f"https://example.com/{n}", "", "Folder")

    assert imported(user_group, records()).created == 6
    # The first two were stored before the deletion.
    names = Bookmark.objects.order_by("url").values_list("collection__name", flat=True)
    assert list(names)[2:] == ["Folder"] * 4


# Dates

TIME = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


# The numbers are seconds, milliseconds or microseconds since 1970, or
# microseconds since 1601.
DATES = """
1700000000, 1700000000000, 1700000000000000, 13344473600000000
2023-11-14T22:13:20Z, 2023-11-14T22:13:20.000Z, 2023-11-14T23:13:20+0100
2023-11-14 22:13:20, 2023-11-14 22:13:20 UTC, 2023/11/14 22:13:20
"""


@pytest.mark.parametrize("text", re.split(", |\n", DATES.strip()))
def test_dates_are_read(text):
    assert parse_date(text) == parse_date(f" {text} ") == TIME
    if text.isdecimal():
        assert parse_date(int(text)) == TIME


@pytest.mark.parametrize(
    ("value", "time"),
    [
        ("2023-11-14", datetime(2023, 11, 14, tzinfo=UTC)),
        ("November 14, 2023", datetime(2023, 11, 14, tzinfo=UTC)),
        ("November 14, 2023 10:13 PM", TIME.replace(second=0)),
        ("2023/11/14 22:13", TIME.replace(second=0)),
        ("Wed, 15 Nov 2023 01:13:20 +0300", TIME),
        (1700000000123, TIME.replace(microsecond=123000)),
        ("1700000000.25", TIME.replace(microsecond=250000)),
        ("1700000000123456", TIME.replace(microsecond=123456)),
        (13344473600123457, TIME.replace(microsecond=123457)),
    ],
)
def test_dates_are_as_exact_as_they_are_written(value, time):
    assert parse_date(value) == time


NOT_DATES = """
0, 0.0, 1, 86400, 20231114, -1, 99999999999999999, 32503680000
0000-00-00, 0000-00-00 00:00:00, 2023-02-30, 2023-13-01, 2999-01-01
14.11.2023, 11/14/2023, yesterday, -, 9999-12-31T23:59:59-23:59
"""


@pytest.mark.parametrize(
    "value",
    [
        *re.split(", |\n", NOT_DATES.strip()),
        *("November 32, 2023", "Tue, 32 Nov 2023 22:13:20 GMT", "9" * 5000),
        *(0, -1700000000, True, 1e400, float("nan"), [], {}),
    ],
)
def test_invalid_and_future_dates_are_unusable(value):
    """Numbers that would stand for a time before March 1973 are invalid."""
    assert parse_date(value) is None


# The time limit


def records(number):
    """Return records on every second line, from line 2."""
    return [Record(2 * n, f"https://{n}/") for n in range(1, number + 1)]


@pytest.mark.usefixtures("chunks_of_two")
def test_an_import_ends_at_its_deadline_and_says_where(user_group):
    """The clock is read twice for each two records."""
    report = imported(user_group, records(9), deadline=Deadline(5, Clock()))

    assert (report.created, Bookmark.objects.count()) == (4, 4)
    assert report.stopped_at == 9
    assert (
        report.error
        == "The import was stopped after 5 seconds, before line 9 (in a JSON file, "
        "bookmark 9)."
    )


def looping_after(records):
    """Yield the records, and then never end."""
    yield from records
    while True:
        pass


@pytest.mark.parametrize("number", [0, 3])
def test_a_reader_that_loops_is_ended_at_the_deadline(user_group, number):
    begin = time.monotonic()

    report = imported(
        user_group, looping_after(records(number)), deadline=Deadline(0.1)
    )

    assert time.monotonic() - begin < 5
    assert (report.created, report.stopped_at) == (number, 2 * number + 1)


def test_the_place_where_an_import_stopped_is_never_0(user_group):
    """An empty folder at the beginning of a JSON file has the number 0."""
    folder = CollectionRecord(0, "A")

    report = imported(user_group, [folder], deadline=Deadline(0))

    assert report.stopped_at == 1


def test_an_import_ends_after_too_many_refused_records(user_group, monkeypatch):
    monkeypatch.setattr(imports, "MAX_REFUSED", 3)
    invalid = [InvalidRecord(n, "Not CSV.") for n in range(2, 9)]

    report = imported(user_group, [Record(1, URL), *invalid])

    assert (report.created, report.refused) == (1, 3)
    assert report.error == (
        "The import was stopped at line 4 (in a JSON file, bookmark 4), because 3 "
        "records were refused."
    )
