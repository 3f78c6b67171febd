"""How gunicorn serves: ``gunicorn -c bookmarks_service/gunicorn.conf.py``.

gunicorn itself reads GUNICORN_CMD_ARGS (any option).
"""

import multiprocessing
import os
from typing import Any

import gunicorn.http.message

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

STALLED = 10  # seconds


def pre_request(worker: Any, req: Any) -> None:
    """Let nobody hold a thread who stops sending in the middle of a body, or stops reading the answer."""
    req.unreader.sock.settimeout(STALLED)
