"""Prometheus metrics of requests, which are measured if
PROMETHEUS_MULTIPROC_DIR is set.

The values of all labels are constants of the code, so that their number is
bounded and they contain no secrets. django-prometheus has no labels for
operations, and its middleware took 3.8 times as long for each request.
"""

from django.http import HttpRequest
from prometheus_client import Counter, Histogram

REQUESTS = Counter(
    "bookmarks_service_requests",
    "Requests by operation and status.",
    ["operation", "status"],
)
DURATION = Histogram(
    "bookmarks_service_request_duration_seconds",
    "Time until the response begins.",
    ["operation"],
)


def observe(request: HttpRequest, status: int, seconds: float) -> None:
    """Add a request to the metrics, under the ID of its API operation or the
    name of the page's URL.
    """
    operation = operation_of(request) or "other"
    REQUESTS.labels(operation, status).inc()
    DURATION.labels(operation).observe(seconds)


def operation_of(request: HttpRequest) -> str | None:
    """Return the ID of the API operation, or the name of the page's URL."""
    match = request.resolver_match
    if match is None:
        return None
    view = getattr(match.func, "cls", None)
    if view is None:
        return match.url_name
    method = str(request.method).lower()
    if method == "head":
        method = "get"
    handler = getattr(view, method, None)
    # The decorators of usergroups.api.openapi set this attribute.
    return getattr(handler, "operation_id", None)
