"""Health checks: /livez (the process runs) and /readyz (it can serve
requests).
"""

import logging
from concurrent.futures import Future
from contextlib import closing
from functools import cache
from threading import Lock, Thread

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

from usergroups.api.errors import NO_STORE, DatabaseUnavailable, failure_response

from .handlers import View, get_only
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


@get_only
def alive(request: HttpRequest) -> HttpResponse:
    """Respond with 200 whenever the process can serve requests at all."""
    return JsonResponse({"success": 1}, headers=NO_STORE)


@get_only
def ready(request: HttpRequest) -> HttpResponse:
    """Respond with 503 if the database is unavailable or hangs, a migration is
    not applied, a column is missing, or writes cannot be replicated.

    The log says why.
    """
    # SQLite does not hang, and its database may be in memory.
    check = check_in_thread if connection.vendor == "postgresql" else check_database
    try:
        check()
    except NotReady as error:
        # The message alone says enough, without a traceback.
        logger.error("Not ready: %s", error)
        return failure_response(DatabaseUnavailable(str(error)))
    except Error as error:
        logger.error("Not ready: %s", first_line(error))
        return failure_response(DatabaseUnavailable())
    return JsonResponse({"success": 1}, headers=NO_STORE)


class NotReady(Exception):
    """The database responds, but calls would fail or hang."""


MAX_CHECK = 5
"""The seconds that a check may take."""

CHECKING = Lock()
"""Held by the thread of a check. It hangs as long as the database does."""


def check_in_thread() -> None:
    """Run ``check_database`` in a thread of its own.

    Raises NotReady if it does not end in time.
    """
    unresponsive = NotReady("The database does not respond.")
    if not CHECKING.acquire(timeout=MAX_CHECK):
        raise unresponsive
    result: Future[None] = Future()
    Thread(target=run_check, args=[result], daemon=True).start()
    try:
        result.result(MAX_CHECK)
    except TimeoutError:
        raise unresponsive from None


def run_check(result: Future[None]) -> None:
    """Run ``check_database``, set its result, and end the check."""
    # Calls that wait for the database, such as for a node of Citus, may have
    # all connections of the pool.
    own = connection.copy()
    own.settings_dict["OPTIONS"].pop("pool", None)
    connections[DEFAULT_DB_ALIAS] = own
    try:
        with closing(own):
            check_database()
    except Exception as error:
        result.set_exception(error)
    else:
        result.set_result(None)
    finally:
        CHECKING.release()


def check_database() -> None:
    """Raise NotReady, or an error of the database."""
    try:
        require_replication()
        require_schema()
    except Error:
        # The database may be another one when it is available again.
        require_schema.cache_clear()
        raise


WRITE_WAITS = """
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE wait_event = 'SyncRep'
    AND query_start < clock_timestamp() - interval '5 seconds'
)
"""
"""Whether a commit has been waiting for a synchronous standby server of
PostgreSQL for five seconds.

No time limit ends such a wait. Any role sees its own connections in this view.
"""


def require_replication() -> None:
    """Raise NotReady if a write waits for a standby server, or an error of the
    database if it is unavailable.
    """
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute("SELECT 1")
            return
        cursor.execute(WRITE_WAITS)
        [is_waiting] = cursor.fetchone()
    if is_waiting:
        raise NotReady("Writes wait for a standby server of the database.")


COLUMNS = {
    "postgresql": """
        SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = ANY (current_schemas(false))
    """,
    "sqlite": """
        SELECT tables.name, columns.name
        FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
    """,
}
"""The statements that read the tables and columns of the database."""


@cache
def require_schema() -> None:
    """Raise NotReady if the database lacks migrations, tables or columns of
    the installed code.

    The check is not repeated after a success, because it loads all migrations.
    """
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotReady("Some migrations are not applied.")
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS[connection.vendor])
        present = set(cursor.fetchall())
    missing = []
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        for field in model._meta.concrete_fields:
            if (table, field.column) not in present:
                missing.append(f"{table}.{field.column}")
    if missing:
        raise NotReady(f"The database lacks the columns {', '.join(missing)}.")
