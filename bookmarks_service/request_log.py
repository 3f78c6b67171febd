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
from django.http import HttpRequest

VALID_ID = re.compile(r"[A-Za-z0-9._~+/=:@-]{1,128}")  # for the header X-Request-ID of a request

TOKEN = re.compile(r"_(?<=[a-z]{3}_)[0-9A-Za-z]{30,}")
"""Most of a secret, after its prefix of three letters. The pattern begins with the constant "_" to be fast."""

NOT_LOGGED = {*vars(logging.makeLogRecord({})), "message", "asctime", "request", "status_code"}
"""Attributes of records that are not logged as fields. Django adds ``request``, with its query, and ``status_code``."""

View = Callable[[HttpRequest], Any]

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the current request, which its lines in the log and its response have."""


def log_requests(get_response: View) -> View:
    """Log each request. Query strings, headers and bodies are not logged, because they may contain secrets.

    With PROMETHEUS_MULTIPROC_DIR, also add each request to the metrics.
    """
    observe: Callable[..., None] | None = None
    if settings.PROMETHEUS_MULTIPROC_DIR:
        from .metrics import observe  # noqa: PLC0415  # needs an optional package

    def middleware(request: Any) -> Any:
        sent_id = request.META.get("HTTP_X_REQUEST_ID", "")
        used_id = sent_id if VALID_ID.fullmatch(sent_id) and not TOKEN.search(sent_id) else uuid4().hex
        before, start = request_id.set(used_id), time.perf_counter()
        try:
            response = get_response(request)
            response["X-Request-ID"] = used_id
            seconds = time.perf_counter() - start
            fields = {
                "method": request.method,
                "path": request.path,
                "status": response.status_code,
                "ms": round(seconds * 1000, 1),
                "token": getattr(getattr(request, "auth", None), "hint", None),
            }
            with suppress(OSError):  # Ignore a full disk, as a logger would. A logger itself is too slow.
                sys.stderr.write(json_line("INFO", __name__, "request", fields) + "\n")
            if observe:
                observe(request, response.status_code, seconds)
        finally:
            request_id.reset(before)
        return response

    return middleware


def json_line(level: str, name: str, message: str, fields: dict[str, Any]) -> str:
    """Return a line of the log with the time, the ID of the current request, and no tokens."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    first = {"asctime": now, "levelname": level, "name": name, "message": message, "request_id": request_id.get()}
    return TOKEN.sub("_(a token)", json.dumps({**first, **fields}))


class JsonFormatter(logging.Formatter):
    """Formats records of Django and of libraries. Values that are not text or integers are written as text."""

    def format(self, record: logging.LogRecord) -> str:
        extra = {name: value for name, value in vars(record).items() if name not in NOT_LOGGED}
        if record.exc_info:
            extra["exc_info"] = self.formatException(record.exc_info)
        fields = {name: value if isinstance(value, str | int | None) else str(value) for name, value in extra.items()}
        return json_line(record.levelname, record.name, record.getMessage(), fields)
