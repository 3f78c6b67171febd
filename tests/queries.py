from collections.abc import Callable
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

TRANSACTION_CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")


def queries_of(call: Callable[..., Any], *args: Any) -> list[str]:
    """Return the SQL of each statement that ``call`` makes, besides transaction control."""
    with CaptureQueriesContext(connection) as captured:
        call(*args)
    return [query["sql"] for query in captured if not query["sql"].startswith(TRANSACTION_CONTROL)]
