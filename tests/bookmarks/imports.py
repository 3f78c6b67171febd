"""Helpers for tests of imports."""

import pytest

from bookmarks.files import importing
from bookmarks.files.report import Report
from bookmarks.models import Bookmark, Collection
from tests.queries import on_another_connection
from usergroups import transactions

CSV = b"url,collection\n" + b"".join(b"https://example.com/%d,Folder\n" % n for n in range(6))


@pytest.fixture
def chunks_of_two(monkeypatch):
    monkeypatch.setattr(importing, "ROWS_PER_TRANSACTION", 2)


def imported(user_group, records, collection=None, update=False):
    """Store the records and return the report."""
    report = Report()
    importing.store(user_group, records, report, collection, update)
    return report


def act_after_first_chunk(monkeypatch):
    """Return a function that sets the action to run after the first chunk has been stored."""

    def arrange(action):
        stored = []

        def retry_on_conflict(*args):
            if len(stored) == 1:
                on_another_connection(action)
            stored.append(transactions.retry_on_conflict(*args))
            return stored[-1]

        monkeypatch.setattr(importing, "retry_on_conflict", retry_on_conflict)

    return arrange


def refusals(report):
    """Return the line and the reason of each record that the report lists as refused, in the order of the file."""
    return sorted((line, each.reason) for each in report.refusals for line in each.lines)


def delete_collections():
    Collection.objects.all().delete()


def collection_names():
    """Return the name of the collection of each bookmark, or None, in the order of their URLs."""
    return list(Bookmark.objects.order_by("url").values_list("collection__name", flat=True))
