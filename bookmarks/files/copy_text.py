"""Parts of the text that PostgreSQL's COPY reads. https://www.postgresql.org/docs/current/sql-copy.html"""

NULL = "\\N"
BYTES = "\\\\x"  # what stands before the hexadecimal digits

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def escaped(text: str) -> str:
    return text if text.isprintable() and "\\" not in text else text.translate(_ESCAPES)
