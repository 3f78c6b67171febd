"""Reading JSON files and JSON Lines."""

import io
import json
import tracemalloc
from contextlib import suppress

import pytest

from bookmarks.files import FORMATS, UnreadableFile
from bookmarks.files.decoding import open_text
from bookmarks.files.records import CollectionRecord, InvalidRecord, Record

pytestmark = pytest.mark.database_independent

URL = "https://example.com/"
OBJECT = '{"url": "https://example.com/", "title": "A"}'
"""The text of a bookmark, which a JSON reader reads as ``Record(1, URL, "A")``
if it is the first one.
"""
UNREADABLE = (
    "The file cannot be read after {} bookmarks, because it is not valid JSON: "
)


def read(text, name="json"):
    """Return the records of a file in the format with this name, and with this
    text or these bytes.
    """
    data = text if isinstance(text, bytes) else text.encode()
    return list(FORMATS[name].read(open_text(io.BytesIO(data))))


def read_damaged(data):
    """Return the records of a JSON file, and the reason why it cannot be read
    to its end.
    """
    records = []
    with pytest.raises(UnreadableFile) as error:
        records.extend(FORMATS["json"].read(open_text(io.BytesIO(data))))
    return records, str(error.value)


# Structures


@pytest.mark.parametrize(
    "text",
    [
        f"[{OBJECT}]",
        f"\ufeff [\n{OBJECT}\n]\n",
        f"[{OBJECT}]".encode("utf-16"),
        OBJECT,
        '{"version": 1, "bookmarks": [%s], "count": 1}' % OBJECT,
        '[{"uri": "https://example.com/", "name": "A", "type": "url", "id": 7}]',
        '[{"name": {"a": 1}, "children": [%s]}]' % OBJECT,
        '[{"content": {"url": "https://example.com/"}, "title": "A"}]',
        '[{"url": "https://exampl\\u0065.com/", "title": "\\u0041"}]',
        '[{"url": "x", "url": "https://example.com/", "title": "A"}]',
    ],
)
def test_structures_of_json_are_recognised(text):
    assert read(text) == [Record(1, URL, "A")]


def test_objects_may_follow_one_another():
    assert read(f"{OBJECT}\n{OBJECT}\n[{OBJECT}]") == [
        Record(number, URL, "A") for number in (1, 2, 3)
    ]


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_an_entry_without_a_url_is_refused_or_an_empty_collection(name):
    refused = InvalidRecord(1, "The entry has no URL.", "A")

    assert read('{"title": "A"}', name) == [refused]
    assert read('{"collection": "A"}', name) == [CollectionRecord(1, "A")]


@pytest.mark.parametrize("name", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('{"$id": 123}', None),
        ('{"name": {"a": 1}}', None),
        ("{}", None),
        ('{"id": 5, "name": "Work"}', "Work"),
        ('["Work", "Home"]', "Work"),
        ("2024", "2024"),
        ("1.5", "1.5"),
        ("true", None),
        ("false", None),
    ],
)
def test_a_value_that_is_not_text_does_not_cost_the_bookmark(name, value, text):
    line = '{"url": "https://a/", "folder": %s, "title": %s}'

    [record] = read(line % (value, value), name)

    assert (record.collection, record.title) == (text, text)


def test_a_description_is_a_title_only_in_files_of_pinboard():
    # Pinboard names the URL "href".
    [record] = read('[{"url": "https://a/", "description": "b"}]')

    assert (record.title, record.note) == (None, "b")


@pytest.mark.parametrize(
    "name", ["addDate", "add_date", "ADD-DATE", "Last Interaction Date"]
)
@pytest.mark.parametrize("file_format", ["json", "jsonl"])
def test_names_of_dates_are_compared_without_case_and_separators(file_format, name):
    text = '{"url": "https://a/", "%s": "2023-11-14"}' % name

    [record] = read(text, file_format)

    assert record.created_at == "2023-11-14"


@pytest.mark.parametrize("file_format", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("more", "tags"),
    [
        ('"tags": ["a", "b c", 2024]', ("a", "b c", "2024")),
        ('"labels": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]', ("a", "b")),
        ('"tag_names": ["a"], "tags": "b, c"', ("b", "c", "a")),
        ('"Tags": "a|b c"', ("a", "b c")),
        ('"tags": "[\\"a,b\\", \\"c\\"]"', ("a,b", "c")),
        ('"tags": null, "labels": []', ()),
        ('"tags": ["", null], "labels": [""]', ()),
    ],
)
def test_tags_are_read_from_lists_and_texts(file_format, more, tags):
    [record] = read('{"url": "https://a/", %s}' % more, file_format)

    assert record.tags == tags


def test_at_most_1000_values_of_an_array_are_read():
    tags = json.dumps([str(n) for n in range(1001)])

    [record] = read('[{"url": "https://a/", "tags": %s}]' % tags)

    assert (len(record.tags), record.tags[-1]) == (1000, "999")


@pytest.mark.parametrize(
    "text",
    [
        '{"links": [%s]}',
        '{"data": {"version": 1, "bookmarks": [%s]}}',
        '{"more": {"stuff": [%s]}}',
        '{"bookmarks": {"a": %s}}',
        "[[%s]]",
        '{"title": "B", "results": [%s]}',
        '{"tags": [{"name": "B"}], "bookmarks": [], "bookmarks": [%s], "tags": []}',
        '{"spaces": {"s1": {"blocks": [{"items": {"a": [[%s]]}}]}}}',
        '{"bookmarks": [], "content": {"x": [%s]}}',
        '{"url": "", "content": [%s]}',
        '{"bookmarks": [%s], "lists": [{"id": 1, "name": "B"}], "more": ["https://b/"]}',
    ],
)
def test_bookmarks_are_found_wherever_they_are(text):
    assert [record for record in read(text % OBJECT) if isinstance(record, Record)] == [
        Record(1, URL, "A")
    ]


@pytest.mark.parametrize("key", ["bookmarks", "children", "folders", "items", "links"])
@pytest.mark.parametrize(
    "text", ['{"name": "F", "%s": [%s]}', '{"%s": [%s], "name": "F"}']
)
def test_an_object_with_a_name_and_a_list_is_a_folder(text, key):
    assert read("[" + text % (key, OBJECT) + "]") == [Record(1, URL, "A", "F")]
    # after 0 bookmarks
    assert read("[" + text % (key, "") + "]") == [CollectionRecord(0, "F")]


@pytest.mark.parametrize(
    "text", ['[{"url": "https://b/", %s}]', '[{%s, "url": "https://b/"}]']
)
@pytest.mark.parametrize(
    ("more", "inside"),
    [
        ('"title": "F", "children": [%s]' % OBJECT, [Record(1, URL, "A", "F")]),
        ('"type": "folder", "title": "F"', []),
    ],
    ids=["full", "empty"],  # An empty one is only a bookmark and makes no collection.
)
def test_a_folder_may_be_a_bookmark_too(text, more, inside):
    assert read(text % more) == [*inside, Record(len(inside) + 1, "https://b/", "F")]


def test_bookmarks_in_bookmarks_are_read_except_under_keys_such_as_annotations():
    more = (
        '"annotations": [{"url": "https://b/"}], "items": [{"url": "https://c/"}], '
        '"x": [1]'
    )

    assert read('[{"url": "https://example.com/", "title": "A", %s}]' % more) == [
        Record(1, "https://c/", None, "A"),
        Record(2, URL, "A"),
    ]


# Folders


def folder(name, *entries, key="title"):
    """Return a folder whose name has this key: ``title``, before the entries,
    or ``name``, after them.
    """
    pairs = [f'"{key}": {json.dumps(name)}', f'"children": [{", ".join(entries)}]']
    return "{%s}" % ", ".join(pairs if key == "title" else reversed(pairs))


@pytest.mark.parametrize("key", ["title", "name"])
def test_folders_are_paths(key):
    text = folder(
        "",
        folder("A", OBJECT, folder("B / C", OBJECT, key=key), key=key),
        OBJECT,
        key=key,
    )

    assert [record.collection for record in read(text)] == ["A", "A / B // C", None]


def test_empty_folders_are_collections():
    text = folder(
        "", folder("A"), folder("B", folder("C")), '{"type": "folder", "name": "D"}'
    )

    assert [record.collection for record in read(text)] == ["A", "B / C", "D"]
    assert {type(record) for record in read(text)} == {CollectionRecord}


def test_the_folder_of_tags_of_firefox_is_ignored():
    """Old backups have another "guid" for it."""
    tags = '{"title": "a", "children": [%s]}, {"title": "b", "children": []}' % OBJECT
    text = '{"guid": "aaaaaaaaaaaa", "root": "tagsFolder", "children": [%s]}'

    assert read(text % tags) == []


def test_bookmarks_are_kept_if_the_file_ends_before_the_name_of_their_folder():
    records, reason = read_damaged(
        ('{"children": [%s, {"children": [%s' % (OBJECT, OBJECT)).encode()
    )

    assert records == [Record(1, URL, "A"), Record(2, URL, "A")]
    assert reason == UNREADABLE.format(2) + "parse error: premature EOF."


def test_folders_that_refer_to_one_another_in_a_circle_end():
    lists = (
        '{"id": 1, "name": "A", "parentId": 2, "links": [%s]}, '
        '{"id": 2, "name": "B", "parentId": 1, "links": []}'
    ) % OBJECT

    record, _ = read('{"collections": [%s]}' % lists)

    assert record.collection == "A / B / A"


@pytest.mark.parametrize("levels", [249, 250])
def test_an_object_has_at_most_250_levels(levels):
    text = "[" * levels + OBJECT + "]" * levels

    if levels < 250:
        assert read(text) == [Record(1, URL, "A")]
    else:
        assert "nested deeper than 250 levels" in read_damaged(text.encode())[1]


# Malformed files


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("", "premature EOF"),
        (",]", "unallowed token at this point in JSON text"),
        (', {"url" "https://b/"}]', "must be separated by a colon"),
        (", NaN]", "invalid char in json text"),
        (f", {'9' * 5000}]", "integer overflow"),
        (", 1e400]", "(floating point) overflow"),
        (', "\ud800"]', "invalid bytes in UTF8 string"),
        (b', "\xff"]', "invalid bytes in UTF8 string"),
        (", " + '{"children":[' * 100_000, "it is nested deeper than 250 levels"),
    ],
    ids=[
        *("no end", "comma at the end", "no colon", "NaN", "many digits"),
        *("an exponent", "a surrogate", "an invalid byte", "nested folders"),
    ],
)
def test_a_malformed_file_is_read_as_far_as_possible(rest, reason):
    rest = rest if isinstance(rest, bytes) else rest.encode(errors="surrogatepass")

    records, error = read_damaged(b"[" + OBJECT.encode() + rest)

    assert records[0] == Record(1, URL, "A")
    assert error.startswith(UNREADABLE.format(len(records)))
    assert reason in error


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ("-0.5e-3", "-0.0005"),
        ("9223372036854775807", "9223372036854775807"),
        ('"\\u0000"', "\0"),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\u2028"', "\u2028"),
        ("{}", None),
    ],
)
def test_a_strange_value_does_not_end_the_file(value, title):
    first, second = read(
        '[{"url": "https://example.com/", "title": %s}, %s]' % (value, OBJECT)
    )

    assert first.title == title
    assert second == Record(2, URL, "A")


def test_content_without_bookmarks_takes_little_memory():
    data = b"[" * 20_000_000

    tracemalloc.start()
    try:
        with suppress(UnreadableFile):
            list(FORMATS["json"].read(open_text(io.BytesIO(data))))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < len(data) / 2


# JSON Lines


def test_json_lines_are_read_and_invalid_lines_are_refused():
    text = (
        '\ufeff{"url": "https://a/", "title": "b", "collection": "c", "created_at": '
        '"2026-01-01T00:00:00Z"}\r\n'
    )
    text += '\n{"url": "https://d/"}\n{\n[1]'

    assert read(text, "jsonl")[:2] == [
        Record(1, "https://a/", "b", "c", "2026-01-01T00:00:00Z"),
        Record(3, "https://d/", None, None, None),
    ]
    assert [(type(record), record.line) for record in read(text, "jsonl")[2:]] == [
        (InvalidRecord, 4),
        (InvalidRecord, 5),
    ]


def test_a_line_that_is_too_long_is_refused_and_reading_continues():
    records = read(b"[" * 3_000_000 + b'\n{"url": "https://a/"}\n', "jsonl")

    assert records[0] == InvalidRecord(1, "The line is longer than 1048576 characters.")
    assert records[1] == Record(2, "https://a/", None)
