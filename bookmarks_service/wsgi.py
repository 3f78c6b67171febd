"""The WSGI entry point: ``bookmarks_service.wsgi:application``."""

import os
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookmarks_service.settings")

if settings.TRACES_ENDPOINT:
    try:
        from .tracing import start_tracing
    except ImportError:
        message = "OTEL_EXPORTER_OTLP_ENDPOINT needs OpenTelemetry's packages. Install the extra `otel`."
        raise ImproperlyConfigured(message) from None
    start_tracing()

django_application = get_wsgi_application()

# These import models, so Django must be set up.
from bookmarks.checks import check_import_size  # noqa: E402
from usergroups.checks import check_settings  # noqa: E402

if problems := [*check_settings(), *check_import_size()]:
    raise ImproperlyConfigured(f"{problems[0].msg} {problems[0].hint}")


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Call Django without Content-Type parameters that it cannot parse, because it would raise an error for them."""
    content_type = environ.get("CONTENT_TYPE", "")
    try:
        parse_header_parameters(content_type)
    except (ValueError, LookupError):
        environ["CONTENT_TYPE"] = content_type.partition(";")[0]
    return django_application(environ, start_response)
