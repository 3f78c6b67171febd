"""Prometheus metrics, which are measured and served if METRICS_ADDRESS is set. docs/deploy.md lists them.

The values of all labels are constants of the code, so that their number is bounded and they contain no secrets.
"""

import os
import threading
import time
from http.server import ThreadingHTTPServer
from typing import Any
from weakref import WeakSet

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, MetricsHandler, values
from prometheus_client.multiprocess import MultiProcessCollector
from rest_framework.exceptions import APIException

from usergroups.contract.errors import ErrorResponse
from usergroups.contract.openapi import operation_id
from usergroups.tokens.concurrency import TooManyExpensiveCalls
from usergroups.tokens.throttling import TooManyFailures

from .handlers import in_admin
from .request_log import QueryCounter
from .shared_metrics import SharedMetrics

if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # Otherwise the server is not gunicorn, and nothing is served.
    values.ValueClass = values.MultiProcessValue(lambda: SharedMetrics.number)

REGISTRY = CollectorRegistry()
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds
OPTIONS: dict[str, Any] = {"namespace": "bookmarks_service", "registry": REGISTRY}
GAUGE: dict[str, Any] = {**OPTIONS, "multiprocess_mode": "livesum"}

REQUESTS = Counter("requests", "Requests by operation and status.", ["operation", "status"], **OPTIONS)
DURATION = Histogram(
    "request_duration_seconds", "Time until the response begins.", ["operation"], buckets=BUCKETS, **OPTIONS
)
THROTTLED = Counter("throttled_requests", "API calls that a rate limit refused.", ["kind"], **OPTIONS)
QUERIES = Counter("database_queries", "Database queries of requests.", ["operation"], **OPTIONS)
DATABASE_SECONDS = Counter("database_seconds", "Time that requests waited for queries.", ["operation"], **OPTIONS)
DATABASE_CONNECTIONS = Gauge("database_connections", "Open connections to the database.", **GAUGE)
CONNECTIONS = Gauge("connections", "Connections of clients.", ["state"], **GAUGE)
REQUEST_THREADS = Gauge("request_threads", "Threads for requests.", **GAUGE)

KINDS: dict[type[APIException], str] = {
    TooManyFailures: "failed_authentications",
    TooManyExpensiveCalls: "expensive_calls",
}
for kind in ("token_rate", *KINDS.values()):
    THROTTLED.labels(kind)  # Start at 0, so that rate() sees the first one.

database_connections: WeakSet[BaseDatabaseWrapper] = WeakSet()
connections_lock = threading.Lock()


def observe(request: HttpRequest, response: HttpResponseBase, seconds: float, queries: QueryCounter) -> None:
    """Add a request to the metrics."""
    operation = operation_of(request)
    REQUESTS.labels(operation, response.status_code).inc()
    DURATION.labels(operation).observe(seconds)
    QUERIES.labels(operation).inc(queries.count)
    DATABASE_SECONDS.labels(operation).inc(queries.seconds)
    if response.status_code == 429 and isinstance(response, ErrorResponse):
        THROTTLED.labels(KINDS.get(response.error_class, "token_rate")).inc()


def operation_of(request: HttpRequest) -> str:
    """Return the ID of the API operation or the name of the page. Unknown paths and methods have the name "other"."""
    if in_admin(request):
        return "admin"
    if match := request.resolver_match:
        view = getattr(match.func, "cls", None)
        return (operation_id(view, str(request.method)) if view else match.url_name) or "other"
    if request.path.startswith(settings.STATIC_URL):
        return "static"
    return {"/livez": "livez", "/readyz": "readyz"}.get(request.path, "other")


class ScrapeHandler(MetricsHandler):
    timeout = 10  # seconds that a client may take to send its request


def serve(worker: Any) -> None:
    """Serve the metrics of all workers, and update the gauges of this one, in threads of their own."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    listener = worker.metrics.listener
    server = ThreadingHTTPServer(listener.getsockname(), ScrapeHandler.factory(registry), bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    connection_created.connect(keep_connection)
    for target in (server.serve_forever, lambda: update_gauges(worker)):
        threading.Thread(target=target, daemon=True).start()


def keep_connection(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Remember a connection to the database, to count those that are open."""
    with connections_lock:
        database_connections.add(connection)


def update_gauges(worker: Any) -> None:
    """Update the gauges of this process once a second."""
    REQUEST_THREADS.set(worker.cfg.threads)
    while True:
        reading, idle = len(worker.pending_conns), len(worker.keepalived_conns)
        CONNECTIONS.labels("reading").set(reading)
        CONNECTIONS.labels("idle").set(idle)
        CONNECTIONS.labels("active").set(max(0, worker.nr_conns - reading - idle))
        with connections_lock:
            DATABASE_CONNECTIONS.set(sum(each.connection is not None for each in database_connections))
        time.sleep(1)
