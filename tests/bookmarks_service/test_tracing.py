"""OpenTelemetry traces, as a collector receives them from a server with two processes."""

import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.conf import settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.bookmarks_service.service import REDIS, Service, empty_database, redis_server
from tests.servers import free_port, wait_until
from tests.test_docs import page

SYSTEM = "postgresql" if settings.DATABASES["default"]["ENGINE"].endswith("postgresql") else "sqlite"


class Collector(ThreadingHTTPServer):
    """A collector that keeps what it receives."""

    def __init__(self):
        self.bodies = []
        super().__init__(("127.0.0.1", 0), CollectorHandler)
        self.endpoint = f"http://127.0.0.1:{self.server_port}"

    def spans(self):
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        scopes = [scope for request in requests for each in request.resource_spans for scope in each.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    def spans_of(self, trace_id):
        return [span for span in self.spans() if span.trace_id.hex() == trace_id]


class CollectorHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/v1/traces"
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


@contextmanager
def running_collector():
    with Collector() as collector:
        thread = Thread(target=collector.serve_forever)
        thread.start()
        yield collector
        collector.shutdown()
        thread.join()


def documented_variables(endpoint):
    """Return the variables that the document exports, with another endpoint. Spans are sent without delay."""
    section = page("observability").partition("## Traces\n")[2].partition("\n## ")[0]
    variables = dict(re.findall(r"(OTEL_\w+)=(\S+)", section))
    return {**variables, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "50"}


@pytest.fixture(scope="module")
def collector():
    with running_collector() as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory, collector):
    folder = tmp_path_factory.mktemp("traces")
    variables = documented_variables(collector.endpoint)
    with ExitStack() as stack:
        if REDIS:
            variables["CACHE_URL"] = stack.enter_context(redis_server(folder))
        database_url = stack.enter_context(empty_database(folder))
        yield stack.enter_context(Service(folder, database_url, **variables))


@pytest.fixture
def traced(service, collector):
    """Make a call, and return the span of the request and its other spans."""

    def call(method, path, **options):
        trace_id = secrets.token_hex(16)
        headers = {"traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01", **options.pop("headers", {})}
        response = service.request(method, path, headers=headers, **options)
        wait_until(lambda: any(span.kind == Span.SPAN_KIND_SERVER for span in collector.spans_of(trace_id)))
        spans = collector.spans_of(trace_id)
        [server] = [span for span in spans if span.kind == Span.SPAN_KIND_SERVER]
        return response, server, [span for span in spans if span is not server]

    return call


def attributes(span):
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def bearer(service, **headers):
    return {"Authorization": f"Bearer {service.access_token}", **headers}


@pytest.mark.once
def test_a_request_has_a_span_with_its_route_and_status(service, traced):
    response, span, _ = traced("GET", "/v1/bookmarks/unknown", headers=bearer(service))

    assert response.status_code == 404
    assert span.name == "GET v1/bookmarks/<str:id>"
    assert attributes(span) == {
        "http.method": "GET", "http.route": "v1/bookmarks/<str:id>", "http.status_code": 404,
    }  # fmt: skip


def test_the_collector_receives_nothing_private(service, traced, collector):
    headers = bearer(service, tracestate="private=1", baggage="private=1", **{"User-Agent": "private"})
    traced("GET", f"/v1/bookmarks/{service.access_token}?q=private&token={service.api_token}", headers=headers)
    traced("GET", f"/private/{service.access_token}?private=1")
    traced("private", "/v1/bookmarks")
    for status in (201, 409):  # The message of the IntegrityError has the name.
        response, *_ = traced("POST", "/v1/collections", headers=headers, json={"name": "private"})
        assert response.status_code == status
    traced("POST", "/v1/bookmarks", headers=headers, json={"url": "https://private.example/"})
    traced("POST", "/admin/login/", data={"username": "private", "password": service.password})
    received = b"".join(collector.bodies).lower()

    digests = [sha256(token.encode()) for token in (service.api_token, service.access_token)]
    private = [
        b"private", b"127.0.0.1", b"example_1", b"uga_", b"bma_", service.password.lower().encode(),
        *(digest.digest() for digest in digests), *(digest.hexdigest().encode() for digest in digests),
    ]  # fmt: skip
    assert [each for each in private if each in received] == []
    assert b"v1/collections" in received


@pytest.mark.once
def test_the_service_works_without_its_collector(tmp_path):
    variables = documented_variables(f"http://127.0.0.1:{free_port()}") | {
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
    }

    with empty_database(tmp_path) as database_url, Service(tmp_path, database_url, **variables) as service:
        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(lambda _: service.update_user_group().status_code, range(20)))
        wait_until(lambda: "Failed to export" in service.log.read_text())

    assert set(statuses) == {200}
    assert service.process.returncode == 0


@pytest.mark.once
def test_health_checks_are_not_traced(service, traced, collector):
    trace_id = secrets.token_hex(16)
    headers = {"traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01", "Host": "unknown.example"}
    statuses = [service.request("GET", path, headers=headers).status_code for path in ("/livez", "/readyz")]
    _, span, _ = traced("GET", "/")

    assert statuses == [200, 200]
    assert span.name == "GET index"
    assert collector.spans_of(trace_id) == []
    assert [each for each in collector.spans() if not each.parent_span_id] == []
