"""OpenTelemetry traces, which are sent if OTEL_EXPORTER_OTLP_ENDPOINT is set.

OpenTelemetry's packages make the spans, send them, and read all their settings from the environment. This module
selects what may be sent. Without it the spans would contain query strings, the addresses of clients, and the messages
of exceptions, which quote values of the database.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, Status, get_tracer, set_tracer_provider

ATTRIBUTES = {
    "http.method", "http.request.method", "http.route", "http.status_code", "http.response.status_code",
    "db.system", "db.system.name", "db.statement", "db.query.text", "error.type",
}  # fmt: skip
"""The attributes that are sent. Statements have placeholders in place of their parameters."""


class SelectiveExporter(OTLPSpanExporter):
    """Sends the spans of requests, without attributes that are not in ATTRIBUTES and without messages of exceptions.

    Statements that belong to no traced request, such as those of health checks, are not sent.
    """

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return super().export([selected(span) for span in spans if span.parent or span.kind is SpanKind.SERVER])


def selected(span: ReadableSpan) -> ReadableSpan:
    """Return a copy of the span with only what may be sent. The trace state is a header of the client."""
    context = span.context
    return ReadableSpan(
        name=span.name,
        context=context and SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags),
        parent=span.parent,
        resource=span.resource,
        attributes={key: value for key, value in (span.attributes or {}).items() if key in ATTRIBUTES},
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def trace_statement(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Execute a statement within a span. This is an execute wrapper of Django's connections."""
    attributes = {"db.system": context["connection"].vendor, "db.statement": sql}
    with get_tracer(__name__).start_as_current_span(sql.partition(" ")[0], kind=SpanKind.CLIENT, attributes=attributes):
        return execute(sql, params, many, context)


def trace_statements(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Trace the statements of a connection. OpenTelemetry's package for psycopg would miss those that are prepared."""
    if trace_statement not in connection.execute_wrappers:
        connection.execute_wrappers.insert(0, trace_statement)  # Leaving an execute_wrapper() pops the last one.


def start_tracing() -> None:
    """Trace requests, and the queries to the database and to Redis. Called before Django is set up, in each process."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(SelectiveExporter()))
    set_tracer_provider(provider)
    # Not as the first middleware, which is the default: it refuses unknown hosts, and health checks may have any.
    position = settings.MIDDLEWARE.index("bookmarks_service.page_middleware.SessionMiddleware")
    DjangoInstrumentor().instrument(middleware_position=position)
    connection_created.connect(trace_statements)
    RedisInstrumentor().instrument()
