"""The gunicorn worker of the service. All code that changes gunicorn's internals is in this file.

Changes to gunicorn's ``gthread`` worker, each with its reason:

- A connection gets a thread only after it has sent a whole request. Until then the event loop reads it without
  blocking. In gunicorn, idle connections and stalled TLS handshakes occupy threads, and can block the service.
- ``/livez``, static files, ``/docs/`` and ``/schema/`` have their own threads: a process must not be restarted while
  all others wait for the database, and any client can read slowly. So have requests with a large or chunked body, which
  wait for it for a limited time, as for clients that read responses slowly. In gunicorn they wait forever.
- The event loop does not block while it closes a connection. In gunicorn it waits up to two seconds for the client.
- A process that stops accepts the connections that wait for it, and then refuses new ones, so that a proxy uses another
  host. In gunicorn new connections wait until the process has ended, and are dropped.
- When ``worker_connections`` connections are open, a new one replaces the one that has waited longest.
- gunicorn's own errors are JSON, and a request line may be longer than 8,190 bytes.

This file is written for gunicorn 27.0 and HTTP/1.1. To see which changes a later release still needs, set "gthread" as
the worker class and run the tests of HTTP, request headers, slow clients and several hosts of the service.
"""

import re
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn import http, util
from gunicorn.sock import ssl_context
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

from .arriving_request import BLOCK, MAX_HEAD, ArrivingRequest, HeadTooLong
from .paced_socket import STALLED, PacedSocket, PacedTLSSocket
from .raw_errors import raw_error

BODY_THREADS = 4  # for requests whose body is incomplete
UNREAD_BODY = 0.1  # seconds to wait for the rest of a body that the application did not read
PROBE = re.compile(rb"(GET|HEAD) /livez[ ?]")
PAGE = re.compile(rb"(GET|HEAD) /(static|docs|schema)[/ ?]")

http.message.MAX_REQUEST_LINE = MAX_HEAD  # The maximum of the setting limit_request_line. In gunicorn it is 8,190.
# Write gunicorn's own errors as JSON, without their detail, which may quote a token.
util.write_error = lambda sock, status, reason, detail: util.write_nonblock(sock, raw_error(status, reason))


class Connection(TConn):
    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, sock, client, server)
        self.parser = http.get_parser(cfg, sock, client)
        self.initialized = True
        self.request = ArrivingRequest()


class Worker(ThreadWorker):
    """A gthread worker whose event loop reads requests from the ``pending_conns`` before it assigns threads."""

    def get_thread_pool(self) -> ThreadPoolExecutor:
        self.body_pool = ThreadPoolExecutor(max_workers=BODY_THREADS)
        self.dedicated_pools = [(PROBE, ThreadPoolExecutor(1)), (PAGE, ThreadPoolExecutor(2))]
        self.tls = ssl_context(self.cfg) if self.cfg.is_ssl else None
        if self.tls:
            self.tls.sslsocket_class = PacedTLSSocket
        return super().get_thread_pool()  # type: ignore[no-any-return]

    def accept(self, listener: socket.socket) -> None:
        try:
            accepted, client = listener.accept()
            sock: socket.socket = PacedSocket(fileno=accepted.detach())
            sock.setblocking(False)
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        except OSError:  # Another worker was faster, the client has left, or too many files are open.
            return
        self.nr_conns += 1
        if self.nr_conns >= self.worker_connections and (waiting := self.pending_conns or self.keepalived_conns):
            waiting[0].timeout = 0  # The event loop closes it next.
        self.enqueue_req(Connection(self.cfg, sock, client, listener.getsockname()))

    def enqueue_req(self, conn: Connection) -> None:
        """Give the connection a thread as soon as it has sent a request. gunicorn would give it one at once."""
        self.wait_for(conn, self.on_pending_socket_readable)
        self.on_pending_socket_readable(conn, conn.sock)

    def wait_for(self, conn: Connection, callback: Callable[[Connection, socket.socket], None]) -> None:
        conn.sock.setblocking(False)
        conn.sock.budget = STALLED
        conn.timeout = time.monotonic() + (STALLED if self.alive else STOP_KEEPALIVE_LINGER)
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(callback, conn))

    def stop_waiting_for(self, conn: Connection) -> None:
        self.pending_conns.remove(conn)
        self.poller.unregister(conn.sock)

    def on_pending_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        try:
            if conn.request.read(client, conn.parser.unreader.take_buffered()):
                self.submit(conn)
        except HeadTooLong:
            self.stop_waiting_for(conn)
            with suppress(OSError):
                util.write_error(client, 431, "Request Header Fields Too Large", "")
            self.linger(conn)
        except OSError:
            self.stop_waiting_for(conn)
            self.discard(conn)

    def submit(self, conn: Connection) -> None:
        self.stop_waiting_for(conn)
        pool = self.body_pool
        if conn.request.is_whole:
            pool = next((pool for path, pool in self.dedicated_pools if path.match(conn.request.data)), self.tpool)
        conn.parser.unreader.unread(bytes(conn.request.data))
        conn.request = ArrivingRequest()
        pool.submit(self.handle, conn).add_done_callback(partial(self.method_queue.defer, self.finish_request, conn))

    def murder_pending(self) -> None:
        """Close connections that have timed out. If only the body is missing, the application responds."""
        now = time.monotonic()
        for conn in [conn for conn in self.pending_conns if conn.timeout <= now]:
            if conn.request.size is not None:
                conn.sock.budget = 0
                self.submit(conn)
                continue
            self.stop_waiting_for(conn)
            self.discard(conn)

    def discard(self, conn: Connection) -> None:
        self.nr_conns -= 1
        conn.close()

    def linger(self, conn: Connection) -> None:
        """Close the connection after the client closes its side, because closing it earlier could lose the response."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            self.wait_for(conn, self.on_lingering_socket_readable)
        except OSError:  # The client has closed the connection.
            self.discard(conn)

    def on_lingering_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        with suppress(OSError):
            if client.recv(BLOCK):
                return
        self.stop_waiting_for(conn)
        self.discard(conn)

    def handle_request(self, req: Any, conn: Connection) -> Any:
        conn.sock.settimeout(STALLED)
        try:
            return super().handle_request(req, conn)
        finally:
            conn.sock.budget = UNREAD_BODY

    def finish_request(self, conn: Connection, future: "Future[Any]") -> None:
        if future.cancelled() or future.exception() or not future.result():
            self.linger(conn)
        else:
            super().finish_request(conn, future)

    def _cap_keepalive(self, deadline: float) -> None:
        """On shutdown, refuse new connections, and wait for requests no longer than for kept-alive connections."""
        for listener in self.sockets:
            for _ in range(self.cfg.backlog):  # those that wait to be accepted, at most
                self.accept(listener)
            listener.close()
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)
