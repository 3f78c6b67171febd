"""Prometheus metrics, as their server shows those of two processes, and
OpenTelemetry traces, as a collector receives them.
"""

import re
import secrets
import sys
from contextlib import closing
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import promql_parser
import pytest
import yaml
from django.test import RequestFactory
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from bookmarks_service.metrics import observe
from tests.bookmarks_service.service import (
    environment,
    new_service,
    workers_have_started,
)
from tests.documents import ROOT, names, rows, section
from tests.servers import (
    CERTIFICATES,
    TIMEOUT,
    free_port,
    listens,
    running_server,
    wait_until,
)

REQUESTS = "bookmarks_service_requests_total"

pytestmark = pytest.mark.database_independent


@pytest.fixture
def measured(settings):
    """Measure the requests of Django's test client.

    Return a function that returns the increase of a value.
    """
    settings.PROMETHEUS_MULTIPROC_DIR = (
        "unused, because the metrics of this process are in its memory"
    )
    before = values()
    return lambda name, **labels: (
        values().get(key(name, labels), 0) - before.get(key(name, labels), 0)
    )


def key(name, labels):
    return name, *sorted(labels.items())


def values():
    """Return the metrics of the service in this process, by their names and
    labels.
    """
    own = "bookmarks_service_"
    families = [each for each in REGISTRY.collect() if each.name.startswith(own)]
    return {
        key(each.name, each.labels): each.value
        for family in families
        for each in family.samples
    }


def test_the_documented_alerts_are_valid():
    documented = names(section("observability", "Metrics"))
    alerts = yaml.safe_load((ROOT / "docs/examples/alerts.yaml").read_text())
    [group] = alerts["groups"]
    rules = group["rules"]

    assert len(rules) == 2
    for rule in rules:
        promql_parser.parse(rule["expr"])
        used = {
            re.sub("_(bucket|sum|count)$", "", name)
            for name in re.findall(r"bookmarks_service_\w+", rule["expr"])
        }
        assert used
        assert used <= documented


def test_all_operations_are_counted_by_their_id(measured):
    for path, methods in SchemaGenerator().get_schema(public=True)["paths"].items():
        for method, operation in methods.items():
            request = RequestFactory().generic(method.upper(), path)
            request.resolver_match = resolve(path)
            observe(request, 299, 0.001)  # a status that no other request has
            labels = {"operation": operation["operationId"], "status": "299"}
            assert measured(REQUESTS, **labels) == 1


OTHER_OPERATIONS = [
    ("/", "index"),
    ("/docs/", "docs"),
    ("/docs", "other"),
    ("/unknown", "other"),
    ("/admin/login/", "login"),
    ("/admin/unknown/", "other"),
    ("/livez", "other"),
]


@pytest.mark.parametrize(("path", "operation"), OTHER_OPERATIONS)
def test_other_paths_are_counted_by_the_name_of_the_page(
    measured, client, db, path, operation
):
    with closing(client.get(path)) as response:
        labels = {"operation": operation, "status": str(response.status_code)}
        assert measured(REQUESTS, **labels) == 1


def test_arbitrary_requests_add_few_series(measured, client):
    client.get("/unknown")
    client.generic("PURGE", "/api/user")
    before = len(values())

    for n in range(100):
        client.generic(f"M{n % 10}", f"/v1/{n}/{n}?n={n}")
        client.generic(f"M{n % 10}", "/api/user")

    # one PURGE and M0 to M9 ten times each
    assert measured(REQUESTS, operation="other", status="405") == 101
    assert len(values()) == before


# What leaves the service


class Collector(ThreadingHTTPServer):
    """A collector that keeps what it receives."""

    def __init__(self):
        self.bodies = []
        super().__init__(("127.0.0.1", 0), CollectorHandler)

    def span_of(self, trace_id):
        """Wait for the span of the request that was sent with this trace id,
        and return it.
        """

        def found():
            spans = self.request_spans()
            return [span for span in spans if span.trace_id.hex() == trace_id]

        wait_until(found)
        return found()[0]

    def request_spans(self):
        """Return the spans of all requests."""
        spans = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans += scope.spans
        return [span for span in spans if span.kind == Span.SPAN_KIND_SERVER]


class CollectorHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/v1/traces"
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def collector():
    with Collector() as collector:
        thread = Thread(target=collector.serve_forever)
        thread.start()
        yield collector
        collector.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """Return the folder of the metrics of all processes."""
    return tmp_path_factory.mktemp("metrics")


@pytest.fixture(scope="module")
def service(tmp_path_factory, collector, metrics):
    """Run the service with two workers, the documented variables for traces
    and the collector.

    Spans are sent after 50 ms.
    """
    variables = {
        **dict(re.findall(r"(OTEL_\w+)=(\S+)", section("observability", "Traces"))),
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
    }
    with new_service(tmp_path_factory, "observed", **variables) as running:
        yield running


@pytest.fixture(scope="module")
def scrape(tmp_path_factory, service, metrics):
    """Run the server of the metrics, which needs no settings of the service,
    and yield a function that returns the metrics.
    """
    log = tmp_path_factory.mktemp("metrics_server") / "log"
    port = free_port()
    options = ["--interface", "wsgi", "--port", str(port), "--no-metrics"]
    application = "bookmarks_service.metrics_server:application"
    command = [sys.executable, "-m", "granian", *options, application]
    variables = environment(PROMETHEUS_MULTIPROC_DIR=str(metrics))

    def is_ready():
        return workers_have_started(log) and listens(port)

    def scrape():
        address = f"http://127.0.0.1:{port}/metrics"
        response = httpx.get(address, timeout=TIMEOUT, verify=CERTIFICATES)
        return response.raise_for_status().text

    with running_server(command, log, is_ready, cwd=ROOT, env=variables):
        yield scrape


@pytest.fixture
def traced(service, collector):
    """Return a function that makes a call and returns the response and the
    span of the request.
    """

    def call(method, path, headers=None, **options):
        trace_id = secrets.token_hex(16)
        headers = {
            "traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01",
            **(headers or {}),
        }
        response = service.request(method, path, headers=headers, **options)
        return response, collector.span_of(trace_id)

    return call


def test_a_request_has_a_span_with_its_route_and_status(service, traced):
    headers = {"Authorization": f"Bearer {service.access_token}"}

    response, span = traced("GET", "/v1/bookmarks/unknown", headers)

    assert response.status_code == 404
    assert span.name == "GET v1/bookmarks/<public_id:id>"
    assert {
        each.key: each.value.string_value or each.value.int_value
        for each in span.attributes
    } == {
        "http.method": "GET",
        "http.route": "v1/bookmarks/<public_id:id>",
        "http.status_code": 404,
    }


def test_metrics_and_traces_contain_nothing_private(service, traced, collector, scrape):
    headers = {
        "Authorization": f"Bearer {service.access_token}",
        "tracestate": "private=1",
        "baggage": "private=1",
        "User-Agent": "private",
    }
    secrets_of_both = f"{service.access_token}?q=private&token={service.api_token}"
    traced("GET", f"/v1/bookmarks/{secrets_of_both}", headers)
    traced("GET", f"/private/{secrets_of_both}")
    traced("private", "/v1/bookmarks")
    unknown = {"Authorization": f"Bearer {service.access_token}x"}
    traced("GET", "/v1/bookmarks", unknown)
    name = {"name": "private"}
    for status in (201, 409):  # The message of the IntegrityError has the name.
        response, _ = traced("POST", "/v1/collections", headers, json=name)
        assert response.status_code == status
    traced("POST", "/v1/bookmarks", headers, json={"url": "https://private.example/"})
    form = {"username": "private", "password": service.password}
    traced("POST", "/admin/login/", data=form)
    service.update_user_group(name="Private name")
    received = b"".join(collector.bodies).lower()
    scraped = scrape().lower().encode()

    private = [b"private", b"127.0.0.1", b"example_1", b"uga_", b"bma_"]
    private.append(service.password.lower().encode())
    for token in (service.api_token, service.access_token):
        digest = sha256(token.encode())
        private += [digest.digest(), digest.hexdigest().encode()]
    assert [each for each in private if each in received + scraped] == []
    assert b"v1/collections" in received
    assert b'operation="create_bookmark"' in scraped
    assert b"v1/bookmarks" not in scraped
    assert service.request("GET", "/metrics").status_code == 404


def test_all_metrics_are_documented_with_their_labels(service, scrape):
    service.update_user_group()
    found = {}
    for family in text_string_to_metric_families(scrape()):
        for sample in family.samples:
            name = re.sub("_(bucket|sum|count)$", "", sample.name)
            # "le" is the bound of a bucket.
            found.setdefault(name, set()).update(sample.labels.keys() - {"le"})

    documented = {
        name.strip("`"): set(re.findall(r"`(\w+)`", labels))
        for name, labels, *_ in rows(section("observability", "Metrics"))
        if "bookmarks_service_" in name
    }
    assert documented == found
