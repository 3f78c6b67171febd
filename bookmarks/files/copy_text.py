"""The text that PostgreSQL's COPY reads: https://www.postgresql.org/docs/current/sql-copy.html"""

from uuid import UUID

from .records import Row

COLUMNS = ("id", "user_group_id", "collection_id", "url", "url_digest", "title", "created_at")

_NULL = "\\N"
_BYTES = "\\\\x"  # stands before hexadecimal digits
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def line(row: Row, user_group_id: int, collection_id: UUID | None) -> str:
    """Return the line with the row's values of COLUMNS."""
    key, url, digest, title, _, created_at = row
    return (
        f"{key}\t{user_group_id}\t{collection_id or _NULL}\t{_escaped(url)}\t{_BYTES}{digest.hex()}\t"
        f"{_escaped(title)}\t{created_at.isoformat()}\n"
    )


def _escaped(text: str) -> str:
    return text if text.isprintable() and "\\" not in text else text.translate(_ESCAPES)
