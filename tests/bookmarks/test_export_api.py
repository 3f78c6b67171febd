"""GET /v1/export."""

import gc
from contextlib import closing

import pytest
from django.db import OperationalError
from django.urls import reverse
from django.utils.http import urlencode

from bookmarks.files import EXPORT_FORMATS, exporting
from bookmarks.files import api as views
from bookmarks.files.api import MAX_FILE_TRANSFERS_PER_OWNER
from bookmarks.files.exporting import load
from tests.answers import error_code, errors
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.conftest import Caller

TYPES = {
    "html": "text/html; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
}


@pytest.fixture
def receive(client, access_token):
    """Return a function that requests a file."""

    def receive(method="GET", token=access_token, **query):
        url = reverse("bookmarks:export") + (f"?{urlencode(query)}" if query else "")
        return Caller(client, method, url, "Bearer", token)()

    return receive


@pytest.fixture
def bookmarks(user_group):
    """Create bookmarks in a collection and in none, an empty collection, and a bookmark of another group."""
    collection = CollectionFactory(user_group=user_group)
    for place in (None, collection, None):
        BookmarkFactory(user_group=user_group, collection=place, title="ü")
    CollectionFactory(user_group=user_group)
    BookmarkFactory()
    return collection


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_a_file_is_returned(receive, user_group, bookmarks, name):
    response = receive(format=name)

    content = response.getvalue()
    assert content.decode() == "".join(EXPORT_FORMATS[name].write(load(user_group)))
    assert response.status_code == 200
    assert {header: response[header] for header in ("Content-Type", "Content-Disposition", "Cache-Control")} == {
        "Content-Type": TYPES[name],
        "Content-Disposition": f'attachment; filename="bookmarks.{name}"',
        "Cache-Control": "no-store",
    }
    assert response["RateLimit"].startswith('"token";r=')


def test_one_collection_is_exported(receive, user_group, bookmarks):
    content = receive(collection=bookmarks.pk).getvalue().decode()

    assert content == "".join(EXPORT_FORMATS["jsonl"].write(load(user_group, bookmarks)))


@pytest.mark.parametrize(
    ("query", "attr", "code"),
    [
        ({"format": "xml"}, "format", "invalid_choice"),
        ({"format": ""}, "format", "invalid_choice"),
        ({"format": "json"}, "format", "invalid_choice"),
        ({"collection": "x"}, "collection", "does_not_exist"),
        ({"collection": ""}, "collection", "does_not_exist"),
    ],
)
def test_an_invalid_query_is_refused(receive, query, attr, code):
    assert errors(receive(**query)) == [(attr, code)]


def test_head_has_the_headers_of_get(receive, bookmarks):
    head, get = receive("HEAD"), receive()

    assert (head.status_code, head.getvalue()) == (200, b"")
    for name in ("Content-Type", "Content-Disposition"):
        assert head[name] == get[name]
    get.getvalue()


def test_a_failure_in_the_middle_is_an_answer(receive, bookmarks, monkeypatch, caplog):
    def fail(*args):
        yield from list(exporting.load(*args))[:2]
        raise OperationalError("gone")

    monkeypatch.setattr(views, "load", fail)

    response = receive()

    assert error_code(response, 503) == "service_unavailable"
    assert "gone" in caplog.text


@pytest.mark.parametrize("path", ["/dev/full", "/dev/null/file"], ids=["write", "open"])
def test_a_full_disk_is_a_503(receive, bookmarks, monkeypatch, path):
    monkeypatch.setattr(exporting, "TemporaryFile", lambda **kwargs: open(path, "w+b"))  # noqa: SIM115

    assert error_code(receive(), 503) == "service_unavailable"


def test_a_slow_client_does_not_keep_the_transaction_open(receive, bookmarks, monkeypatch):
    ended = []

    def load(*args):
        yield from exporting.load(*args)
        ended.append(True)

    monkeypatch.setattr(views, "load", load)

    with closing(receive()):
        assert ended == [True]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the file that is not closed
def test_downloads_are_limited_until_they_end(receive, user_group):
    def refuses():
        answer = receive()
        b"".join(answer)
        return answer.status_code == 429

    downloads = [receive() for _ in range(MAX_FILE_TRANSFERS_PER_OWNER)]
    assert refuses()
    downloads.pop().getvalue()
    assert not refuses()
    downloads.append(receive())
    assert refuses()
    # Even an answer that a middleware has dropped is closed in the end.
    downloads.clear()
    gc.collect()
    assert not refuses()
