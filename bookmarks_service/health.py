"""Health checks: /livez (the process runs) and /readyz (it can serve
requests).
"""

import logging
from functools import cache

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

from usergroups.api.errors import NO_STORE, DatabaseUnavailable, failure_response

from .handlers import View, page
from .json_log import first_line

logger = logging.getLogger(__name__)


def health(get_response: View) -> View:
    """Respond to health checks before the middleware that require HTTPS or a
    known host, which probes do not use.
    """
    views = {"/livez": alive, "/readyz": ready}

    def middleware(request: HttpRequest) -> HttpResponseBase:
        view = views.get(request.path, get_response)
        return view(request)

    return middleware


@page
def alive(request: HttpRequest) -> HttpResponse:
    """Respond with 200 whenever the process can serve requests at all."""
    return JsonResponse({"success": 1}, headers=NO_STORE)


@page
def ready(request: HttpRequest) -> HttpResponse:
    """Respond with 503 if the database is unavailable or a migration is not
    applied.

    The log says why.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        require_migrations()
    except UnappliedMigrations as error:
        # The message alone says enough, without a traceback.
        logger.error("Not ready: %s", error)
        return failure_response(DatabaseUnavailable(str(error)))
    except Error as error:
        logger.error("Not ready: %s", first_line(error))
        return failure_response(DatabaseUnavailable())
    return JsonResponse({"success": 1}, headers=NO_STORE)


class UnappliedMigrations(Exception):
    """The database lacks migrations of the installed code."""


@cache
def require_migrations() -> None:
    """Raise UnappliedMigrations if there are any.

    The check is not repeated after a success, because it loads all migrations.
    """
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise UnappliedMigrations("Some migrations are not applied.")
