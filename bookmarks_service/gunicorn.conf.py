"""How gunicorn serves: ``gunicorn -c bookmarks_service/gunicorn.conf.py``.

gunicorn itself reads GUNICORN_CMD_ARGS (any option).
"""

import logging
import multiprocessing
import os
import time
from typing import Any

import gunicorn.http.message
from gunicorn.http.errors import NoMoreData
from gunicorn.http.unreader import SocketUnreader

wsgi_app = "bookmarks_service.wsgi"
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY") or multiprocessing.cpu_count())
threads = 8
# A leak, whoever's, never grows for long; the jitter keeps workers from starting anew all at once.
max_requests = 20_000
max_requests_jitter = 2_000
keepalive = 5  # seconds
# What ?url= may take: 8,000 characters of 4 bytes, percent-encoded. gunicorn's own setting goes to 8,190, and beyond
# that only to "no limit", with which one request line could fill the memory.
gunicorn.http.message.MAX_REQUEST_LINE = limit_request_line = 100_000
# For what serves, and not for commands: a database that hangs is an answer of 503, and not a thread less.
os.environ.setdefault("PGCONNECT_TIMEOUT", "5")  # seconds
os.environ.setdefault("PGOPTIONS", "-c statement_timeout=30s -c lock_timeout=10s")
control_socket_disable = True
secure_scheme_headers: dict[str, str] = {}  # Django's settings say which header tells of https

# A thread is nobody's to keep: not by silence, and not by a byte now and then. gunicorn itself waits for ever.
STALLED = 10  # seconds without a byte, and for a whole head
WHOLE_BODY = 60  # seconds

receive = SocketUnreader.chunk


def receive_in_time(self: SocketUnreader, size_hint: int | None = None) -> bytes:
    now = time.monotonic()
    deadline = vars(self).setdefault("deadline", now + STALLED)
    self.sock.settimeout(max(0.01, min(STALLED, deadline - now)))
    try:
        return bytes(receive(self, size_hint))
    except TimeoutError:
        raise NoMoreData from None
    finally:
        self.sock.settimeout(STALLED)  # for the answer


SocketUnreader.chunk = receive_in_time


def pre_request(worker: Any, req: Any) -> None:
    req.unreader.deadline = time.monotonic() + WHOLE_BODY


def post_request(worker: Any, req: Any, environ: Any, resp: Any) -> None:
    vars(req.unreader).pop("deadline", None)


def without_content(record: logging.LogRecord) -> bool:
    """What is no HTTP is logged without what it says: there may be a token in it."""
    message = record.getMessage()
    if message.startswith("Invalid request"):
        record.msg, record.args = message.partition(": ")[0], ()
    return True


logging.getLogger("gunicorn.error").addFilter(without_content)
