"""Sockets that limit how long a thread waits for a slow client."""

import errno
import select
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

STALLED = 10.0  # seconds without any progress
MINIMUM_RATE = 32 * 1024  # bytes per second, on average, once a thread has waited for STALLED seconds
BLOCK = 64 * 1024  # bytes

TLS_EVENTS: dict[type[OSError], int] = {ssl.SSLWantReadError: select.POLLIN, ssl.SSLWantWriteError: select.POLLOUT}
"""What TLS waits for, which may be the opposite of what the caller does."""


class PacedSocket(socket.socket):
    """A socket with a time budget: the number of seconds that a thread may still wait for the client.

    Each wait reduces the budget, and each byte sent or received adds to it. A large body or response may take long if
    data keeps flowing.

    The socket itself never blocks. With Python's own timeouts, it would need three more system calls for each block of
    data, and the thread would release the interpreter during each of them.
    """

    budget = STALLED
    timeout: float | None = None

    def settimeout(self, timeout: float | None) -> None:
        if super().gettimeout() != 0:
            super().settimeout(0)
        self.timeout = timeout

    def setblocking(self, flag: bool) -> None:
        self.settimeout(None if flag else 0)

    def gettimeout(self) -> float | None:
        return self.timeout

    def recv(self, size: int = 1024, flags: int = 0) -> bytes:
        data: bytes = self.wait_for(super().recv, select.POLLIN, size, flags)
        self.budget += len(data) / MINIMUM_RATE
        return data

    def send(self, data: Any, flags: int = 0) -> int:
        """Send data. Raises BrokenPipeError, which servers do not log as an error, if the client is too slow."""
        try:
            sent: int = self.wait_for(super().send, select.POLLOUT, data, flags)
        except TimeoutError as error:
            raise BrokenPipeError(errno.EPIPE, "The client reads too slowly.") from error
        self.budget += sent / MINIMUM_RATE
        return sent

    def sendall(self, data: Any, flags: int = 0) -> None:
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self.send(rest[:BLOCK], flags) :]

    def wait_for(self, call: Callable[..., Any], event: int, *args: Any) -> Any:
        """Repeat a call until it does not block, and wait for the event in between. Raises TimeoutError."""
        while True:
            try:
                return call(*args)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
                if self.timeout == 0:
                    raise
                self.wait(TLS_EVENTS.get(type(error), event))

    def wait(self, event: int) -> None:
        poll, start = select.poll(), time.monotonic()
        poll.register(self, event)
        limit = max(0.001, min(self.timeout or STALLED, self.budget))
        ready = poll.poll(limit * 1000)
        self.budget -= time.monotonic() - start
        if not ready:
            raise TimeoutError


class PacedTLSSocket(PacedSocket, ssl.SSLSocket):
    """A PacedSocket with TLS. Set it as the ``sslsocket_class`` of an SSLContext."""
