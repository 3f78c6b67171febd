"""The request log: one JSON line per request, and the request ID on every log record. It also measures the metrics."""

import logging
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import connections
from django.http import HttpRequest

logger = logging.getLogger(__name__)
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

VALID_ID = re.compile(r"[A-Za-z0-9._~+/=:@-]{1,128}")

TOKEN = re.compile(r"[a-z]{3}_[0-9A-Za-z]{30,}")  # a secret that was sent in a URL or header by mistake

View = Callable[[HttpRequest], Any]


class QueryCounter:
    """An execute wrapper that counts database queries and adds up their seconds."""

    count = 0
    seconds = 0.0

    def __call__(self, execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        self.count += 1
        start = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.seconds += time.perf_counter() - start


def log_requests(get_response: View) -> View:
    """Log each request. Query strings, headers and bodies are not logged, because they may contain secrets.

    With METRICS_ADDRESS, also add each request to the metrics.
    """
    observe: Callable[..., None] | None = None
    if settings.METRICS_ADDRESS:
        from .metrics import observe  # noqa: PLC0415  # it imports an optional dependency

    def middleware(request: HttpRequest) -> Any:
        sent = request.headers.get("X-Request-ID", "")
        new_id = sent if VALID_ID.fullmatch(sent) and not TOKEN.search(sent) else uuid4().hex
        reset = request_id.set(new_id)
        start, queries = time.perf_counter(), QueryCounter()
        try:
            with ExitStack() as wrappers:
                for connection in connections.all():
                    wrappers.enter_context(connection.execute_wrapper(queries))
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
            request_id.reset(reset)
        return response

    return middleware


class RequestIdFilter(logging.Filter):
    """Add the ID of the current request, or None, to each log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
