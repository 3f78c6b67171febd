"""Sockets that limit how long a thread waits for a slow client."""

import errno
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STALLED = 10.0  # seconds without any progress
MINIMUM_RATE = 32 * 1024  # bytes per second, on average, once a thread has waited for STALLED seconds
BLOCK = 64 * 1024  # bytes


class PacedSocket(socket.socket):
    """A socket with a time budget: the number of seconds that a thread may still wait for the client.

    Each wait reduces the budget, and each byte sent or received adds to it. A large body or response may take long if
    data keeps flowing.
    """

    budget = STALLED

    @contextmanager
    def limited(self) -> Iterator[None]:
        timeout = self.gettimeout()
        if timeout == 0:  # The socket is non-blocking.
            yield
            return
        self.settimeout(max(0.001, min(timeout or STALLED, self.budget)))
        start = time.monotonic()
        try:
            yield
        finally:
            self.budget -= time.monotonic() - start
            self.settimeout(timeout)

    def recv(self, size: int = 1024, flags: int = 0) -> bytes:
        with self.limited():
            data = super().recv(size, flags)
        self.budget += len(data) / MINIMUM_RATE
        return data

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all data. Raises BrokenPipeError, which servers do not log as an error, if the client is too slow."""
        rest = memoryview(data).cast("B")
        while rest:
            try:
                with self.limited():
                    sent = super().send(rest[:BLOCK], flags)
            except TimeoutError as error:
                raise BrokenPipeError(errno.EPIPE, "The client reads too slowly.") from error
            self.budget += sent / MINIMUM_RATE
            rest = rest[sent:]


class PacedTLSSocket(PacedSocket, ssl.SSLSocket):
    """A PacedSocket with TLS. Set it as the ``sslsocket_class`` of an SSLContext."""
