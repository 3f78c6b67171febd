"""Limit the time of statements on a standby that may hang.

PostgreSQL enforces ``statement_timeout`` itself, so it does not help if the server is suspended or its disk hangs, and
psycopg waits for the response to a statement without a limit.
"""

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any

PRECISION = 0.1  # seconds

_lock = threading.Lock()
_running: dict[object, tuple[float, Any]] = {}  # for each statement, when it must end, and psycopg's connection
_watcher: threading.Thread | None = None


class TimeLimit:
    """An execute wrapper that ends the connection if a statement takes too long. The statement then raises an error.

    The connection is ended by the thread below. A ``threading.Timer`` for each statement would take 150 µs.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        statement = object()
        with _lock:
            _running[statement] = time.monotonic() + self.seconds, context["connection"].connection
            _start_watcher()
        try:
            return execute(sql, params, many, context)
        finally:
            with _lock:
                del _running[statement]


def _start_watcher() -> None:
    global _watcher  # noqa: PLW0603
    if _watcher is None or not _watcher.is_alive():
        _watcher = threading.Thread(target=_watch, name="time_limit", daemon=True)
        _watcher.start()


def _watch() -> None:
    while True:
        time.sleep(PRECISION)
        now = time.monotonic()
        with _lock:
            for end, connection in _running.values():
                if now > end:
                    _shut_down(connection)


def _shut_down(connection: Any) -> None:
    """Shut down the socket, which wakes the thread that waits for it. To close it would free its number for others."""
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as sock:
        sock.shutdown(socket.SHUT_RDWR)
