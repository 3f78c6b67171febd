"""Error responses in the API's format for requests that do not reach Django."""

import json


def raw_error(status: int, reason: str) -> bytes:
    """Return a whole HTTP response."""
    kind, code = ("server_error", "internal_error") if status == 500 else ("client_error", "bad_request")
    error = {"code": code, "detail": f"{reason}.", "attr": None}
    body = json.dumps({"success": 0, "type": kind, "errors": [error]})
    headers = {
        "Connection": "close",
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "Content-Length": len(body),
    }
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers.items()), "", body]
    return "\r\n".join(lines).encode()
