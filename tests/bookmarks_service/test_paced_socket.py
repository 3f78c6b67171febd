"""A PacedSocket never blocks longer than its timeout and its budget."""

import socket
import threading
import time

import pytest

from bookmarks_service.paced_socket import MINIMUM_RATE, STALLED, PacedSocket

pytestmark = pytest.mark.once

DATA = bytes(5_000_000)  # more than the system buffers


@pytest.fixture
def pair():
    """Yield a PacedSocket and its peer."""
    own, peer = socket.socketpair()
    with PacedSocket(fileno=own.detach()) as paced, peer:
        paced.settimeout(0.05)
        yield paced, peer


@pytest.mark.parametrize("method", ["send", "sendall"])
def test_sending_to_a_client_that_does_not_read_ends(pair, method):
    paced, _ = pair
    with pytest.raises(BrokenPipeError):
        paced.sendall(DATA)

    with pytest.raises(BrokenPipeError):
        getattr(paced, method)(b"more")


def test_receiving_from_a_client_that_does_not_send_ends(pair):
    paced, _ = pair

    with pytest.raises(TimeoutError):
        paced.recv()


@pytest.mark.parametrize("call", [lambda paced: paced.recv(), lambda paced: paced.sendall(DATA)], ids=["recv", "send"])
def test_a_call_without_blocking_does_not_wait(pair, call):
    paced, _ = pair
    paced.setblocking(False)

    with pytest.raises(BlockingIOError):
        call(paced)

    assert paced.gettimeout() == 0


def test_all_data_is_sent_to_a_client_that_reads_late(pair):
    paced, peer = pair
    paced.settimeout(STALLED)
    received = bytearray()

    def read():
        time.sleep(0.1)
        while block := peer.recv(65_536):
            received.extend(block)

    reader = threading.Thread(target=read)
    reader.start()
    paced.sendall(DATA)
    paced.shutdown(socket.SHUT_WR)
    reader.join()

    assert received == DATA


def test_waiting_reduces_the_budget_and_data_increases_it(pair):
    paced, peer = pair
    peer.sendall(bytes(MINIMUM_RATE))
    assert len(paced.recv(MINIMUM_RATE)) == MINIMUM_RATE
    assert paced.budget == STALLED + 1

    with pytest.raises(TimeoutError):
        paced.recv()

    assert paced.budget < STALLED + 1 - 0.04


def test_without_a_budget_no_call_waits(pair):
    paced, _ = pair
    paced.settimeout(None)
    paced.budget = 0

    with pytest.raises(TimeoutError):
        paced.recv()
