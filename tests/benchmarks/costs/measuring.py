"""What a request costs."""

import ctypes
import gc
import re
import signal
import time
from pathlib import Path
from typing import NamedTuple

from django.db import connection, transaction
from django.test import Client

MIB = 1024 * 1024
MAX_SECONDS_PER_KB = 0.020
MAX_MEMORY_PER_KB = MIB
MAX_SECONDS = 10
MIN_KB = 5
"""The length of a request that counts, if it is shorter."""

LIBC = ctypes.CDLL(None)


class Request(NamedTuple):
    name: str
    """What is special about it."""
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    content_type: str = "application/json"


class Cost(NamedTuple):
    status: int
    length: int
    """The number of bytes that were sent and received."""
    seconds: float
    memory: int
    """bytes"""

    @property
    def kilobytes(self) -> float:
        """Its length, or MIN_KB if it is shorter, because any call takes some
        time, and a search reads a limited number of rows.
        """
        return max(MIN_KB, self.length / 1024)

    @property
    def share(self) -> float:
        """The part of what it may take that it took."""
        kilobytes = self.kilobytes
        return max(
            self.seconds / kilobytes / MAX_SECONDS_PER_KB,
            self.memory / kilobytes / MAX_MEMORY_PER_KB,
            self.seconds / MAX_SECONDS,
        )

    @property
    def is_too_high(self) -> bool:
        return self.share > 1 or self.status == 500

    def __str__(self) -> str:
        kilobytes = self.kilobytes
        return (
            f"{self.status} {self.length / 1024:9,.1f} kB {self.seconds:7.3f} s "
            f"{self.memory / MIB:6.1f} MiB: {self.seconds * 1000 / kilobytes:6.2f} ms "
            f"and {self.memory / 1024 / kilobytes:7.1f} KiB for each kB"
        )


def cpu_seconds() -> float:
    """Return the CPU time of this process and of PostgreSQL's for it."""
    seconds = time.process_time()
    if connection.vendor == "postgresql":
        pid = connection.connection.info.backend_pid
        nanoseconds = Path(f"/proc/{pid}/schedstat").read_text().split()[0]
        seconds += int(nanoseconds) / 1e9
    return seconds


def memory(name: str) -> int:
    """Return the memory that the process has ("VmRSS") or the most that it had
    ("VmHWM"), in bytes.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024


def answer(client: Client, request: Request) -> tuple[int, bytes]:
    response = client.generic(
        request.method,
        request.path,
        request.body,
        request.content_type,
        headers=request.headers,
    )
    if response.streaming:
        return response.status_code, response.getvalue()
    return response.status_code, response.content


def measured(client: Client, request: Request) -> Cost:
    """Measure a call, up to three times if it is dear, and return the least,
    because other programs may disturb it.
    """
    cost = measured_once(client, request)
    for _ in range(2):
        if cost.is_too_high and cost.seconds < MAX_SECONDS:
            cost = min(
                cost, measured_once(client, request), key=lambda each: each.share
            )
    return cost


def stop(*arguments: object) -> None:
    raise TimeoutError("The request takes too long.")


def measured_once(client: Client, request: Request) -> Cost:
    """Make a call, undo what it changes and return what it took."""
    client.cookies.clear()
    signal.signal(signal.SIGPROF, stop)
    gc.collect()
    # so that the next collection does not visit what exists
    gc.freeze()
    LIBC.malloc_trim(0)
    connection.ensure_connection()
    with transaction.atomic():
        # "5" makes the highest value the present one.
        Path("/proc/self/clear_refs").write_text("5")
        memory_before = memory("VmRSS")
        start = cpu_seconds()
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        status, content = answer(client, request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = cpu_seconds() - start
        grown = memory("VmHWM") - memory_before
        transaction.set_rollback(True)
    headers = sum(map(len, request.headers.values()))
    length = len(request.path) + headers + len(request.body) + len(content)
    return Cost(status, length, seconds, grown)
