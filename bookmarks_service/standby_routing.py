"""Let calls that only read use a standby: the middleware and the database router.

A standby answers a call only if it has replayed everything that the primary had acknowledged when the call began. No
caller can therefore tell which database has answered, and the processes need no shared state.
"""

from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model
from django.http import HttpRequest

from .handlers import in_admin
from .standbys import Standby, current_standby
from .time_limit import TimeLimit

READ_LIMIT = 5  # seconds

View = Callable[[HttpRequest], Any]


class Read:
    """A call that only reads. It chooses a database when its first query needs one, and keeps to it."""

    def __init__(self) -> None:
        self.alias: str | None = None
        self.standby: Standby | None = None

    def __enter__(self) -> "Read":
        self.stack = ExitStack()
        self.reset = current_read.set(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        current_read.reset(self.reset)
        self.stack.close()

    def choose(self) -> str:
        if self.alias is None:
            self.standby = current_standby()
            self.alias = self.standby.alias if self.standby else DEFAULT_DB_ALIAS
            if self.standby:
                self.stack.enter_context(connections[self.alias].execute_wrapper(TimeLimit(READ_LIMIT)))
        return self.alias


current_read: ContextVar[Read | None] = ContextVar("current_read", default=None)


def read_from_standbys(get_response: View) -> View:
    """Let API calls that only read use a standby. Repeat them on the primary if the standby fails meanwhile."""

    def middleware(request: HttpRequest) -> Any:
        if request.method not in ("GET", "HEAD") or in_admin(request):
            return get_response(request)
        with Read() as read:
            response = get_response(request)
        if response.status_code == 503 and read.standby:
            read.standby.fail("A read has failed and is repeated on the primary.")
            response = get_response(request)
        return response

    return middleware


class StandbyRouter:
    """Routes reads to the database that the current call has chosen, and everything else to the primary."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        read = current_read.get()
        return read.choose() if read else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, first: Model, second: Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS
