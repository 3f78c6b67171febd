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
    """A socket with a limited patience: the number of seconds that a thread will still wait for the client.

    Each wait reduces the patience, and each byte that is sent or received adds to it. A large body or answer may
    therefore take long as long as it keeps moving.
    """

    patience = STALLED

    @contextmanager
    def limited(self) -> Iterator[None]:
        timeout = self.gettimeout()
        if timeout == 0:  # The socket does not wait.
            yield
            return
        self.settimeout(max(0.001, min(timeout or STALLED, self.patience)))
        start = time.monotonic()
        try:
            yield
        finally:
            self.patience -= time.monotonic() - start
            self.settimeout(timeout)

    def recv(self, size: int = 1024, flags: int = 0) -> bytes:
        with self.limited():
            data = super().recv(size, flags)
        self.patience += len(data) / MINIMUM_RATE
        return data

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all data. Raises BrokenPipeError, which servers do not log as a fault, if the client is too slow."""
        rest = memoryview(data).cast("B")
        while rest:
            try:
                with self.limited():
                    sent = super().send(rest[:BLOCK], flags)
            except TimeoutError as error:
                raise BrokenPipeError(errno.EPIPE, "The client reads too slowly.") from error
            self.patience += sent / MINIMUM_RATE
            rest = rest[sent:]


class PacedTLSSocket(PacedSocket, ssl.SSLSocket):
    """The same with TLS: set it as the ``sslsocket_class`` of an SSLContext."""
