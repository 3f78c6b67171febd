"""Helpers for tests in which rows are deleted during an import."""

import pytest

from bookmarks.files import chunks, importing
from bookmarks.models import Bookmark, Collection
from tests.queries import on_another_connection

CSV = b"url,collection\n" + b"".join(b"https://example.com/%d,Folder\n" % n for n in range(6))


@pytest.fixture(params=["COPY", "INSERT"])
def way(request, monkeypatch):
    """The way in which rows are inserted, on PostgreSQL; SQLite has no COPY and always uses INSERT."""
    if request.param == "INSERT":
        monkeypatch.setattr(chunks, "copy_rows", lambda *args: None)


@pytest.fixture
def chunks_of_two(monkeypatch):
    monkeypatch.setattr(importing, "BLOCK_SIZE", 1)
    monkeypatch.setattr(importing, "CHUNK_SIZE", 2)


def act_after_first_chunk(monkeypatch, module):
    """Return a function that sets the action to run after ``module`` has stored the first chunk."""

    def arrange(action):
        def store(*args):
            for number, outcome in enumerate(importing.store(*args)):
                yield outcome
                if number == 0:
                    on_another_connection(action)

        monkeypatch.setattr(module, "store", store)

    return arrange


def delete_collections():
    Collection.objects.all().delete()


def collection_names():
    """Return the name of the collection of each bookmark, or None, in the order of their URLs."""
    return list(Bookmark.objects.order_by("url").values_list("collection__name", flat=True))
