"""Read HTTP/1.1 requests without blocking, before a thread handles them."""

import math
import re
import socket
import ssl

MAX_HEAD = 128 * 1024  # bytes
SMALL_REQUEST = 192 * 1024  # bytes of head and body
BLOCK = 64 * 1024  # bytes

# The end of a head, or a line that ends in a bare LF, which HTTP parsers may refuse without reading on.
END_OF_HEAD = re.compile(rb"\r\n\r\n|(?<!\r)\n")
FRAMING = re.compile(rb"\r\n(content-length|transfer-encoding|expect):[ \t]*([^\r]*)", re.IGNORECASE)


class HeadTooLong(Exception):
    """A request head has more than MAX_HEAD bytes."""


class ArrivingRequest:
    """The part of a request that has been received.

    ``is_whole`` is false if a large or chunked body is still incomplete.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.searched = 0
        self.size: float | None = None
        self.is_whole = False

    def read(self, sock: socket.socket, buffered: bytes) -> bool:
        """Read the available data. Return whether a small request, or the head of a larger one, is complete.

        ``buffered`` is data that was read from the socket before. Raises OSError if the connection is closed, and
        HeadTooLong.
        """
        self.data += buffered
        while not self.can_start():
            try:
                received = sock.recv(BLOCK)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return False
            if not received and self.size is None:
                raise ConnectionResetError
            if not received:  # The client has closed its side. The application reports the truncated body.
                break
            self.data += received
        return True

    def can_start(self) -> bool:
        if self.size is None:
            self.size = self.find_size()
        if self.size is None:
            return False
        self.is_whole = len(self.data) >= self.size
        return self.is_whole or self.size > SMALL_REQUEST

    def find_size(self) -> float | None:
        """Return the size of head and body, infinity if it is unknown, or None if the head is incomplete."""
        end = END_OF_HEAD.search(self.data, self.searched)
        if end is None:
            if len(self.data) > MAX_HEAD:
                raise HeadTooLong
            self.searched = max(0, len(self.data) - 3)
            return None
        body = 0.0
        for name, value in FRAMING.findall(self.data, 0, end.end()):
            is_length = name.lower() == b"content-length" and re.fullmatch(rb"[0-9]{1,9}", value.strip())
            body = max(body, int(value) if is_length else math.inf)
        return end.end() + body
