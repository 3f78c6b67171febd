"""The request log: one JSON line per request, and the request ID on every log record. It also measures the metrics."""

import logging
import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.http import HttpRequest

logger = logging.getLogger(__name__)
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

VALID_ID = re.compile(r"[A-Za-z0-9._~+/=:@-]{1,128}")

TOKEN = re.compile(r"[a-z]{3}_[0-9A-Za-z]{30,}")  # a secret that was sent in a URL or header by mistake

View = Callable[[HttpRequest], Any]


class QueryCounter:
    """The number of a request's database queries, and the seconds that they took."""

    count = 0
    seconds = 0.0


query_counter: ContextVar[QueryCounter | None] = ContextVar("query_counter", default=None)


def count_query(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
    """Add a query to the counter of the current request. This is an execute wrapper."""
    counter = query_counter.get()
    if counter is None:
        return execute(sql, params, many, context)
    counter.count += 1
    start = time.perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        counter.seconds += time.perf_counter() - start


@receiver(connection_created)
def count_queries(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Count the queries of a new connection. A wrapper for each request would be installed on all connections."""
    if count_query not in connection.execute_wrappers:  # unless it was there before it reconnected
        connection.execute_wrappers.insert(0, count_query)


def log_requests(get_response: View) -> View:
    """Log each request. Query strings, headers and bodies are not logged, because they may contain secrets.

    With METRICS_ADDRESS, also add each request to the metrics.
    """
    observe: Callable[..., None] | None = None
    if settings.METRICS_ADDRESS:
        from .metrics import observe  # noqa: PLC0415  # it imports an optional dependency

    def middleware(request: HttpRequest) -> Any:
        sent = request.META.get("HTTP_X_REQUEST_ID", "")
        new_id = sent if VALID_ID.fullmatch(sent) and not TOKEN.search(sent) else uuid4().hex
        start, queries = time.perf_counter(), QueryCounter()
        reset_id, reset_counter = request_id.set(new_id), query_counter.set(queries)
        try:
            response = get_response(request)
            response["X-Request-ID"] = new_id
            seconds = time.perf_counter() - start
            fields = {
                "method": request.method,
                "path": TOKEN.sub("(a token)", request.path),
                "status": response.status_code,
                "ms": round(seconds * 1000, 1),
                "queries": queries.count,
                "token": getattr(getattr(request, "auth", None), "hint", None),
            }
            logger.info("request", extra=fields)
            if observe:
                observe(request, response, seconds, queries)
        finally:
            query_counter.reset(reset_counter)
            request_id.reset(reset_id)
        return response

    return middleware


class RequestIdFilter(logging.Filter):
    """Add the ID of the current request, or None, to each log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
