"""gunicorn's configuration: ``gunicorn -c bookmarks_service/gunicorn.conf.py``.

GUNICORN_CMD_ARGS overrides any option. The worker class is in gunicorn_worker.py.
"""

import logging
import multiprocessing
import os
from typing import Any

wsgi_app = "bookmarks_service.wsgi"
worker_class = "bookmarks_service.gunicorn_worker.Worker"
workers = int(os.environ.get("WEB_CONCURRENCY") or multiprocessing.cpu_count())
threads = 8
worker_connections = 500  # per process; the limit of open files is usually 1,024
# Restart a worker now and then, so that a memory leak does not grow for long. The jitter spreads the restarts.
max_requests = 20_000
max_requests_jitter = 2_000
keepalive = 5  # seconds
# Allow a ?url= of 8,000 characters with 4 bytes each, percent-encoded.
limit_request_line = 100_000
sendfile = False  # sendfile() would bypass the minimum rate of PacedSocket (paced_socket.py).
os.environ.setdefault("PGCONNECT_TIMEOUT", "5")  # seconds; for PostgreSQL
control_socket_disable = True
# Ignore headers that would change the scheme or path. SECURE_PROXY_SSL_HEADER names the header for HTTPS.
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""


def on_starting(server: Any) -> None:
    """Prepare the metrics, and warn if the processes count calls separately."""
    if address := os.environ.get("METRICS_ADDRESS"):
        from bookmarks_service.shared_metrics import SharedMetrics  # noqa: PLC0415  # not when this file is loaded

        server.metrics = SharedMetrics(address)
    if server.cfg.workers > 1 and not os.environ.get("CACHE_URL"):
        server.log.warning(
            "CACHE_URL is not set: each of the %s processes counts calls separately, and has its own rate limits.",
            server.cfg.workers,
        )


def metrics_of(server_or_worker: Any) -> Any:
    """Return the metrics, or None if METRICS_ADDRESS is not set or the server was started by an earlier version."""
    return getattr(server_or_worker, "metrics", None)


def pre_fork(server: Any, worker: Any) -> None:
    """Let the new worker take part in the metrics."""
    if metrics_of(server):
        server.metrics.add(worker)


def post_worker_init(worker: Any) -> None:
    """Limit the time of statements, serve the metrics, and continue deletions that another process left."""
    # Django is set up only now.
    from django.db.backends.signals import connection_created  # noqa: PLC0415

    from bookmarks_service.postgresql_connections import set_up  # noqa: PLC0415
    from usergroups.deletion import resume_deletions  # noqa: PLC0415

    connection_created.connect(set_up)
    if metrics_of(worker):
        from bookmarks_service.metrics import serve  # noqa: PLC0415

        serve(worker)
    resume_deletions()


def child_exit(server: Any, worker: Any) -> None:
    """Forget the gauges of a worker that has ended."""
    if metrics_of(server):
        server.metrics.remove(worker)


def on_exit(server: Any) -> None:
    """Delete the files of the metrics."""
    if metrics_of(server):
        server.metrics.close()


def hide_request_content(record: logging.LogRecord) -> bool:
    """Remove the content of a malformed request from the log, because it may contain a token."""
    message = record.getMessage()
    if message.startswith("Invalid request"):
        record.msg, record.args = message.partition(": ")[0], ()
    return True


logging.getLogger("gunicorn.error").addFilter(hide_request_content)
