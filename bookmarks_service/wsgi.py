"""The WSGI entry point: ``bookmarks_service.wsgi:application``. Only servers import it, not commands."""

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import webencodings
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application
from django.db.backends.signals import connection_created
from django.utils.http import parse_header_parameters
from environs import EnvError

from .postgresql_connections import set_up

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookmarks_service.settings")
os.environ.setdefault("PGCONNECT_TIMEOUT", "5")  # seconds; for PostgreSQL

try:
    if settings.TRACES_ENDPOINT:
        from .tracing import start_tracing

        start_tracing()
    django_application = get_wsgi_application()
    import_module(settings.ROOT_URLCONF)  # The server does not start if the package of a setting is missing.
    if not settings.DEBUG and not (settings.STATIC_ROOT / "staticfiles.json").exists():
        raise ImproperlyConfigured("There are no static files. Run `manage.py collectstatic`.")
except (ImproperlyConfigured, EnvError) as error:
    sys.exit(str(error))
connection_created.connect(set_up)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Call Django without Content-Type parameters that it cannot use, because it would raise an error for them.

    Django decodes the query string with the codec of Python that ``charset`` names, but some, such as rot13, are not
    for text. Imports refuse the name that replaces it.
    """
    content_type = environ.get("CONTENT_TYPE", "")
    try:
        media_type, parameters = parse_header_parameters(content_type)
        if "charset" in parameters and webencodings.lookup(parameters["charset"]) is None:
            environ["CONTENT_TYPE"] = f"{media_type}; charset=unknown"
    except (ValueError, LookupError):
        environ["CONTENT_TYPE"] = content_type.partition(";")[0]
    return django_application(environ, start_response)
