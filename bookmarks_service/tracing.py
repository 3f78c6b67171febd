"""OpenTelemetry traces of requests, which are sent if
OTEL_EXPORTER_OTLP_ENDPOINT is set.

OpenTelemetry's packages make the spans, send them, and read all their settings
from the environment. This module selects what may be sent. Without it the
spans would contain query strings, the addresses of clients, and the messages
of exceptions, which quote values of the database.
"""

from collections.abc import Sequence

from django.conf import settings
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import SpanContext, Status, set_tracer_provider

ATTRIBUTES = {
    "http.method",
    "http.request.method",
    "http.route",
    "http.status_code",
    "http.response.status_code",
}


class SelectiveExporter(OTLPSpanExporter):
    """Sends spans without other attributes than ATTRIBUTES, and without
    messages of exceptions.
    """

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return super().export([selected(span) for span in spans])


def selected(span: ReadableSpan) -> ReadableSpan:
    """Return a copy of the span with only what may be sent."""
    context = span.context
    if context is not None:
        # without the trace state, which the client may set
        context = SpanContext(
            context.trace_id, context.span_id, context.is_remote, context.trace_flags
        )
    all_attributes = span.attributes or {}
    sent = ATTRIBUTES & all_attributes.keys()
    attributes = {name: all_attributes[name] for name in sent}
    return ReadableSpan(
        span.name,
        context,
        span.parent,
        span.resource,
        attributes,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
    )


def start_tracing() -> None:
    """Trace requests. Call this in each process, before Django is set up."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(SelectiveExporter()))
    set_tracer_provider(provider)
    # By default, tracing is the first middleware. It reads the host of the
    # request, which Django refuses if it is unknown, but health checks may have
    # any host. It may stand anywhere after them.
    position = settings.MIDDLEWARE.index(
        "bookmarks_service.middleware.SessionMiddleware"
    )
    DjangoInstrumentor().instrument(middleware_position=position)
