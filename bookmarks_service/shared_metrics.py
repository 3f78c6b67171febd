"""What the server's processes share to serve metrics: a listening socket, and a folder with the values of each process.

gunicorn's main process imports this module, so it uses neither Django nor the metrics themselves.
"""

import os
import shutil
import socket
import tempfile
import time
from errno import EADDRINUSE
from itertools import count
from typing import Any, ClassVar

SECONDS = 5
"""How long to wait for an address that is in use, as gunicorn does: a killed server's processes need time to end."""


class SharedMetrics:
    """Gives each worker a number, under which prometheus_client stores the worker's values in files of the folder.

    prometheus_client uses the process id by default. Since workers are replaced now and then, the number of files would
    grow without limit, and their counts must be kept. A new worker takes the lowest free number, and continues the
    counts of the worker that had it before.
    """

    number: ClassVar[int] = 0
    """The number of this process."""

    def __init__(self, address: str) -> None:
        """Listen on ``address``. Raises SystemExit with a message if that is not possible."""
        try:
            import prometheus_client  # noqa: F401, PLC0415  # an optional dependency
        except ImportError:
            raise SystemExit("METRICS_ADDRESS needs prometheus-client. Install the extra `metrics`.") from None
        self.listener = listen(address)
        self.numbers: set[int] = set()
        self.folder = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="bookmarks_service-metrics-")

    def add(self, worker: Any) -> None:
        """Give the worker a number. Called immediately before the fork, so that the worker's process inherits it."""
        worker.metrics = self
        worker.number = SharedMetrics.number = next(number for number in count() if number not in self.numbers)
        self.numbers.add(worker.number)

    def remove(self, worker: Any) -> None:
        """Forget the gauges of a worker that has ended. Its counts remain."""
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415  # an optional dependency

        mark_process_dead(worker.number)
        self.numbers.discard(worker.number)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def listen(address: str) -> socket.socket:
    """Return a socket that listens on ``address``, such as ``127.0.0.1:9100`` or ``[::1]:9100``."""
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
        raise SystemExit(f"METRICS_ADDRESS is invalid: {address}. Set it to an address such as 127.0.0.1:9100.")
    host = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    end = time.monotonic() + SECONDS
    while True:
        try:
            listener = socket.create_server((host, int(port)), family=family, backlog=64)
        except OSError as error:
            if error.errno != EADDRINUSE or time.monotonic() > end:
                raise SystemExit(f"METRICS_ADDRESS={address} cannot be used: {error.strerror}.") from None
            time.sleep(0.5)
        else:
            listener.setblocking(False)  # All workers wait for connections, and only one of them gets each.
            return listener
