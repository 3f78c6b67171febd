"""The format of the log: one JSON line for each record, without tokens.

The main process of Granian uses it too, so this imports nothing of Django.
"""

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime

TOKEN = re.compile(r"_(?<=[a-z]{3}_)[0-9A-Za-z]{30,}")
"""A secret without the three letters of its prefix, which a look-behind checks.

The pattern begins with the constant "_", so that the search is fast.
"""

QUERY = re.compile(r"(https?://[^\s?#]*)[?#]\S*")
"""A URL with a query or a fragment, which are not logged, such as a Referer in
a message of Django.
"""

NOT_LOGGED = {
    *vars(logging.makeLogRecord({})),
    "message",
    "asctime",
    "request",
    "status_code",
}
"""Attributes of records that are not logged as fields.

Django adds ``request``, with its query, and ``status_code``.
"""

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the current request, for its lines in the log and for the header
of its response.
"""


def json_line(level: str, name: str, message: str, fields: dict[str, object]) -> str:
    """Return a line of the log with the time, the ID of the current request,
    and no tokens.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    values = {
        "asctime": now,
        "levelname": level,
        "name": name,
        "message": message,
        "request_id": request_id.get(),
        **fields,
    }
    return TOKEN.sub("_(a token)", json.dumps(values))


class JsonFormatter(logging.Formatter):
    """Formats records of Django and of libraries.

    Values that are not text or integers are written as text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields = {}
        for name, value in vars(record).items():
            if name in NOT_LOGGED:
                continue
            is_logged_unchanged = isinstance(value, str | int | None)
            fields[name] = value if is_logged_unchanged else str(value)
        # A 503 means that the database is unavailable. A traceback of several
        # kilobytes for each call would only fill the disk.
        is_unavailable = getattr(record, "status_code", None) == 503
        if record.exc_info and is_unavailable:
            fields["error"] = first_line(record.exc_info[1])
        elif record.exc_info:
            fields["exc_info"] = self.formatException(record.exc_info)
        message = QUERY.sub(r"\1", record.getMessage())
        return json_line(record.levelname, record.name, message, fields)


def first_line(error: BaseException | None) -> str:
    """Return the class of the exception and the first line of its message.

    PostgreSQL may quote values of columns in the lines that follow.
    """
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
