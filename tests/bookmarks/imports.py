"""Helpers for tests of imports."""

from threading import TIMEOUT_MAX

import pytest

from bookmarks import imports
from bookmarks.import_report import Report
from tests.queries import on_another_connection
from usergroups.api.throttling import Deadline
from usergroups.db import retry

NEVER = Deadline(TIMEOUT_MAX)


@pytest.fixture
def chunks_of_two(monkeypatch):
    """Let an import store only two rows, instead of 1,000, in each
    transaction.
    """
    monkeypatch.setattr(imports, "ROWS_PER_TRANSACTION", 2)


def imported(user_group, records, collection=None, update=False, deadline=NEVER):
    """Import the records and return the report."""
    report = Report()
    imports.store(user_group, records, report, collection, update, deadline=deadline)
    return report


def act_after_first_chunk(monkeypatch, action):
    """Let an import run ``action`` between its first and its second
    transaction.
    """
    results = []

    def retry_on_conflict(*args):  # An import calls it for each transaction.
        if len(results) == 1:
            on_another_connection(action)
        results.append(retry.retry_on_conflict(*args))
        return results[-1]

    monkeypatch.setattr(imports, "retry_on_conflict", retry_on_conflict)


def refusals(report):
    """Return the line and the reason of each refusal that the report lists, in
    the order of the file.
    """
    return sorted((refusal.line, refusal.reason) for refusal in report.refusals)
