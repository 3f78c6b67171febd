"""What load balancers ask: does this process run (/livez), and can it serve (/readyz)?"""

from collections.abc import Callable
from functools import cache as remembered
from typing import Any

from django.core.cache import cache
from django.db import DatabaseError, Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from usergroups.contract.errors import NO_STORE, DatabaseUnavailable, failure_response

from .handlers import page

View = Callable[[HttpRequest], Any]


def health(get_response: View) -> View:
    """Middleware before all that asks for https or for a host: probes come in plain text, and to an address."""

    def middleware(request: HttpRequest) -> Any:
        return {"/livez": alive, "/readyz": ready}.get(request.path, get_response)(request)

    return middleware


@page
def alive(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"success": 1}, headers=NO_STORE)


@page
def ready(request: HttpRequest) -> HttpResponse:
    """503 if the database or a migration is missing. The service does without its cache, and so the answer says it."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        migrations_applied()
    except Error:
        return failure_response(DatabaseUnavailable())
    return JsonResponse({"success": 1, "cache": "ok" if cache_answers() else "out of reach"}, headers=NO_STORE)


@remembered
def migrations_applied() -> None:
    """Raises DatabaseError if one is not; once they are, it is not asked again."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise DatabaseError("There are migrations that are not applied.")


def cache_answers() -> bool:
    try:
        cache.get("readyz")
    except Exception:  # each cache has its own
        return False
    return True
