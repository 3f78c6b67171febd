"""Start servers, and stop them even if the tests are interrupted."""

import itertools
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

TIMEOUT = 600
"""A time limit in seconds that a slow machine does not reach.

It only prevents a test from waiting for ever.
"""

CERTIFICATES = ssl.create_default_context()
"""For the argument ``verify`` of httpx, which would otherwise load all
certificates for each call, in 40 ms.
"""

SETPRIV = shutil.which("setpriv")
END_WITH_PARENT = [SETPRIV, "--pdeathsig", "TERM", "--"] if SETPRIV else []
"""A prefix of a command.

On Linux, the program ends when the process that started it is killed.
"""


def run_program(*command: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return its status and what it printed."""
    return subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT, check=False, **options
    )


def wait_until(condition: Callable[[], object], timeout: float = TIMEOUT) -> None:
    """Wait until ``condition()`` is true, and fail after ``timeout`` seconds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, (
            f"{condition} is still false after {timeout} seconds"
        )
        time.sleep(0.02)


PORTS = itertools.count(10_000 + os.getpid() % 20_000)
"""Ports below those that Linux uses for outgoing connections.

Test processes rarely begin at the same port.
"""

RESERVATIONS: list[socket.socket] = []


def free_port() -> int:
    """Return a port that no server of this machine and no other test uses.

    As the server may start much later, a socket with the same port on another
    address keeps other tests from taking it.
    """
    for port in itertools.islice(PORTS, 100):
        with suppress(OSError), socket.socket() as server, ExitStack() as stack:
            server.bind(("127.0.0.1", port))
            reservation = stack.enter_context(socket.socket())
            reservation.bind(("127.255.255.254", port))
            stack.pop_all()  # keeps the reservation open
            RESERVATIONS.append(reservation)
            return port
    raise AssertionError("None of 100 ports is free.")


def listens(port: int, address: str = "127.0.0.1") -> bool:
    with suppress(OSError), socket.create_connection((address, port), timeout=TIMEOUT):
        return True
    return False


def start_server(
    command: Sequence[Any],
    log: Path,
    is_ready: Callable[[], bool],
    timeout: float = TIMEOUT,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a server in a process group of its own and wait until it is ready.

    A server that ends first, or that is not ready in time, is killed, and the
    error shows its log. ``options`` are those of ``Popen``.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*END_WITH_PARENT, *command],
            stdout=output,
            stderr=output,
            start_new_session=True,
            **options,
        )
    try:
        wait_until(lambda: process.poll() is not None or is_ready(), timeout)
        assert process.poll() is None, "the server ended"
    except BaseException as error:
        kill_server(process)
        error.add_note(log.read_text(errors="replace"))
        raise
    return process


@contextmanager
def running_server(
    command: Sequence[Any], log: Path, is_ready: Callable[[], bool], **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends, however it ends."""
    process = start_server(command, log, is_ready, **options)
    try:
        yield process
    finally:
        stop_server(process)


def stop_server(
    process: subprocess.Popen[bytes], with_signal: signal.Signals = signal.SIGTERM
) -> None:
    """Ask a server to end and wait for it.

    Then kill what is left of its process group.
    """
    try:
        process.send_signal(with_signal)
        process.wait(timeout=TIMEOUT)
    finally:
        kill_server(process)


def kill_server(process: subprocess.Popen[bytes]) -> None:
    """Kill a server with all its processes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
