"""Health checks for load balancers: /livez (the process runs) and /readyz (it can serve requests)."""

import functools
from typing import Any

from django.db import DatabaseError, Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from usergroups.contract.errors import NO_STORE, DatabaseUnavailable, failure_response

from .handlers import View, page


def health(get_response: View) -> View:
    """Respond to health checks before the middleware that require HTTPS or a known host, which probes do not use."""

    def middleware(request: HttpRequest) -> Any:
        return {"/livez": alive, "/readyz": ready}.get(request.path, get_response)(request)

    return middleware


@page
def alive(request: HttpRequest) -> HttpResponse:
    """Respond with 200 whenever the process can serve requests at all."""
    return JsonResponse({"success": 1}, headers=NO_STORE)


@page
def ready(request: HttpRequest) -> HttpResponse:
    """Respond with 503 if the database is unavailable or a migration is not applied."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        require_migrations()
    except Error:
        return failure_response(DatabaseUnavailable())
    return JsonResponse({"success": 1}, headers=NO_STORE)


@functools.cache
def require_migrations() -> None:
    """Raise DatabaseError if a migration is not applied. A success is cached."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise DatabaseError("Some migrations are not applied.")
