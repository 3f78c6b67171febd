"""The WSGI entry point: ``bookmarks_service.wsgi:application``. Only servers
import it, not commands.
"""

import gc
import signal
from contextlib import suppress

# Let SIGTERM end this process while it starts. It has inherited the handler of
# Granian's main process, which does nothing here, so that a stop would take 30
# seconds. This stands above the other imports, because they take most of the
# time of a start.
with suppress(ValueError):  # runserver imports this module in another thread.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.core.cache import close_caches
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.core.handlers.base import reset_urlconf
from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries
from django.db.backends.signals import connection_created
from environs import EnvError

from .postgresql_connections import set_up

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookmarks_service.settings")
os.environ.setdefault("PGCONNECT_TIMEOUT", "5")  # seconds; for PostgreSQL
os.environ.setdefault("DATABASE_POOL_SIZE", "8")

try:
    if settings.TRACES_ENDPOINT:
        from .tracing import start_tracing

        start_tracing()
    django_application = get_wsgi_application()
    # Fail now if a setting needs a package that is not installed.
    import_module(settings.ROOT_URLCONF)
    if not settings.DEBUG and not (settings.STATIC_ROOT / "staticfiles.json").exists():
        raise ImproperlyConfigured(
            "There are no static files. Run `manage.py collectstatic`."
        )
except (ImproperlyConfigured, EnvError) as error:
    sys.exit(str(error))
connection_created.connect(set_up)

# Django calls these before and after each request, but they would find nothing
# to do: the log of queries has a maximum size and is empty without DEBUG, the
# last request has given its connection back, the caches close nothing, and each
# request sets the URLconf. A call executes 4 to 5 % fewer instructions.
request_started.disconnect(reset_queries)
request_started.disconnect(close_old_connections)
request_finished.disconnect(close_caches)
request_finished.disconnect(reset_urlconf)

# Each worker process imports this module. Do not let the garbage collector
# visit the loaded modules again: decoding a body of 131,000 lists then takes
# 26 ms instead of 70. The collector's threshold stays as it is, because DRF's
# requests are cycles: with 10,000 instead of 700, bodies of 900 KB made two
# processes grow to 970 MiB, not 390.
gc.collect()
gc.freeze()


def application(
    environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Call Django without Content-Type parameters that it cannot use.

    Django reads them before any middleware runs, so that its error would not
    be handled. With a charset, it also decodes the query string, which fails
    for more than 1,000 query parameters, or if the charset is a codec that is
    not for text, such as rot13. The charset "unknown" replaces the parameters
    of the Content-Type, so that an import refuses the file instead of reading
    it in another encoding.
    """
    content_type = environ.get("CONTENT_TYPE", "")
    if ";" in content_type:
        try:
            WSGIRequest({**environ})
        except (ValueError, LookupError, SuspiciousOperation):
            media_type = content_type.partition(";")[0]
            environ["CONTENT_TYPE"] = f"{media_type}; charset=unknown"
    return django_application(environ, start_response)
