"""OpenTelemetry traces, as a collector receives them from the service."""

import re
import secrets
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.bookmarks_service.service import new_service
from tests.documents import section
from tests.servers import wait_until

pytestmark = pytest.mark.database_independent


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
def service(tmp_path_factory, collector):
    """Run the service with the documented variables and the collector.

    Spans are sent after 50 ms.
    """
    variables = {
        **dict(re.findall(r"(OTEL_\w+)=(\S+)", section("observability", "Traces"))),
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    with new_service(tmp_path_factory, "traces", **variables) as running:
        yield running


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


def test_the_collector_receives_nothing_private(service, traced, collector):
    headers = {
        "Authorization": f"Bearer {service.access_token}",
        "tracestate": "private=1",
        "baggage": "private=1",
        "User-Agent": "private",
    }
    secrets_of_both = f"{service.access_token}?q=private&token={service.api_token}"
    traced("GET", f"/v1/bookmarks/{secrets_of_both}", headers)
    traced("private", "/v1/bookmarks")
    name = {"name": "private"}
    for status in (201, 409):  # The message of the IntegrityError has the name.
        response, _ = traced("POST", "/v1/collections", headers, json=name)
        assert response.status_code == status
    traced("POST", "/v1/bookmarks", headers, json={"url": "https://private.example/"})
    form = {"username": "private", "password": service.password}
    traced("POST", "/admin/login/", data=form)
    received = b"".join(collector.bodies).lower()

    private = [b"private", b"127.0.0.1", b"example_1", b"uga_", b"bma_"]
    private.append(service.password.lower().encode())
    for token in (service.api_token, service.access_token):
        digest = sha256(token.encode())
        private += [digest.digest(), digest.hexdigest().encode()]
    assert [each for each in private if each in received] == []
    assert b"v1/collections" in received
