"""The log: one JSON line per request and per record, without tokens. It also measures the requests for the metrics."""

import json
import logging
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.http import HttpRequest

VALID_ID = re.compile(r"[A-Za-z0-9._~+/=:@-]{1,128}")

TOKEN = re.compile(r"_(?<=[a-z]{3}_)[0-9A-Za-z]{30,}")
"""The secret part of a token. It begins with the underscore because a regular expression finds a constant quickly."""

NOT_LOGGED = {*vars(logging.makeLogRecord({})), "message", "asctime", "request", "status_code"}
"""Attributes of records. Django adds ``request``, which contains the query string, and ``status_code``."""

View = Callable[[HttpRequest], Any]


current_request: ContextVar[Any] = ContextVar("current_request", default=None)
"""The HttpRequest. It has the additional attributes ``id`` and ``queries``, the number of its database queries."""


def count_query(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
    """Add a query to those of the current request. This is an execute wrapper."""
    if current := current_request.get():
        current.queries += 1
    return execute(sql, params, many, context)


@receiver(connection_created)
def count_queries(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Count the queries of a new connection. A wrapper for each request would be installed on all connections."""
    if count_query not in connection.execute_wrappers:  # unless it was there before it reconnected
        connection.execute_wrappers.insert(0, count_query)


def log_requests(get_response: View) -> View:
    """Log each request. Query strings, headers and bodies are not logged, because they may contain secrets.

    With PROMETHEUS_MULTIPROC_DIR, also add each request to the metrics.
    """
    observe: Callable[..., None] | None = None
    if settings.PROMETHEUS_MULTIPROC_DIR:
        from .metrics import observe  # noqa: PLC0415  # it imports an optional dependency

    def middleware(request: Any) -> Any:
        sent = request.META.get("HTTP_X_REQUEST_ID", "")
        request.id = sent if VALID_ID.fullmatch(sent) and not TOKEN.search(sent) else uuid4().hex
        request.queries = 0
        reset, start = current_request.set(request), time.perf_counter()
        try:
            response = get_response(request)
            response["X-Request-ID"] = request.id
            seconds = time.perf_counter() - start
            fields = {
                "method": request.method,
                "path": request.path,
                "status": response.status_code,
                "ms": round(seconds * 1000, 1),
                "queries": request.queries,
                "token": getattr(getattr(request, "auth", None), "hint", None),
            }
            with suppress(OSError):  # Like a logger, which would take more time than all of this, survive a full disk.
                sys.stderr.write(json_line("INFO", __name__, "request", fields) + "\n")
            if observe:
                observe(request, response.status_code, seconds)
        finally:
            current_request.reset(reset)
        return response

    return middleware


def json_line(level: str, name: str, message: str, fields: dict[str, Any]) -> str:
    """Return a line of the log with the time, the ID of the current request, and no tokens."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    current = current_request.get()
    first = {"asctime": now, "levelname": level, "name": name, "message": message, "request_id": current and current.id}
    return TOKEN.sub("_(a token)", json.dumps({**first, **fields}))


class JsonFormatter(logging.Formatter):
    """Formats records of Django and of libraries. Values that are not text or integers are written as text."""

    def format(self, record: logging.LogRecord) -> str:
        extra = {name: value for name, value in vars(record).items() if name not in NOT_LOGGED}
        if record.exc_info:
            extra["exc_info"] = self.formatException(record.exc_info)
        fields = {name: value if isinstance(value, str | int | None) else str(value) for name, value in extra.items()}
        return json_line(record.levelname, record.name, record.getMessage(), fields)
