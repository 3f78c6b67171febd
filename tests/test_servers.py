"""Servers that tests start end with the tests, even if the start fails or the tests are killed."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from tests.servers import ENDED_WITH_ITS_PARENT, start_server, stop_server, wait_until

WITH_A_CHILD = """
import subprocess, sys, time

subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], close_fds=False)
print("started", flush=True)
{then}
"""


@contextmanager
def all_processes_end():
    """Yield a file that a server inherits, and fail if any process still has it open two minutes later."""
    reader, writer = os.pipe()
    ended = threading.Event()
    waiting = threading.Thread(target=lambda: (os.read(reader, 1), ended.set()), daemon=True)
    try:
        yield writer
    finally:
        os.close(writer)
    waiting.start()
    assert ended.wait(timeout=120)
    os.close(reader)


def server(then):
    return [sys.executable, "-c", WITH_A_CHILD.format(then=then)]


@pytest.mark.parametrize("then", ["time.sleep(600)", "sys.exit(1)"], ids=["never ready", "ends"])
def test_a_server_that_fails_to_start_is_ended_with_its_children(tmp_path, then):
    log = tmp_path / "log"

    def fail_after_the_start():
        wait_until(log.read_text)
        return False

    with all_processes_end() as inherited, pytest.raises(AssertionError) as failure:
        start_server(server(then), log, fail_after_the_start, timeout=1, pass_fds=[inherited])

    assert failure.value.__notes__ == ["started\n"]


def test_an_error_while_waiting_ends_the_server(tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    with all_processes_end() as inherited, pytest.raises(KeyboardInterrupt):
        start_server(server("time.sleep(600)"), tmp_path / "log", interrupt, pass_fds=[inherited])


def test_a_server_that_stops_leaves_no_children(tmp_path):
    with all_processes_end() as inherited:
        log = tmp_path / "log"
        stop_server(start_server(server("time.sleep(600)"), log, log.read_text, pass_fds=[inherited]))


@pytest.mark.skipif(not ENDED_WITH_ITS_PARENT, reason="there is no setpriv command")
def test_a_server_ends_when_the_tests_are_killed(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from tests.servers import start_server\n"
        "log = Path(sys.argv[1])\n"
        "server = [sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(600)']\n"
        "start_server(server, log, lambda: log.read_text(), pass_fds=[int(sys.argv[2])])\n"
        "print('started', flush=True); time.sleep(600)"
    )
    with all_processes_end() as inherited:
        command = [sys.executable, "-c", code, tmp_path / "log", str(inherited)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[inherited]) as tests:
            assert tests.stdout.readline() == b"started\n"
            tests.send_signal(signal.SIGKILL)
