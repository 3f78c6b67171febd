"""The worker reads requests without blocking, and knows when they are complete."""

import socket

import pytest

from bookmarks_service.arriving_request import MAX_HEAD, SMALL_REQUEST, ArrivingRequest, HeadTooLong

pytestmark = pytest.mark.once


def arriving(*pieces):
    """Yield after each piece whether the head of the request has arrived, and whether all of it has."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        request = ArrivingRequest()
        for piece in pieces:
            theirs.sendall(piece)
            yield request.read(ours, b""), request.is_whole


def single_bytes(text):
    return [bytes([byte]) for byte in text]


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\na\nb",
        b"POST / HTTP/1.1\r\nCONTENT-LENGTH:0003 \r\n\r\na\r\n",
        b"GET / HTTP/1.1\n",
        b"GET / HTTP/1.1\r\nA: b\n",
    ],
)
def test_a_request_is_complete_with_its_last_byte(text):
    states = list(arriving(*single_bytes(text)))

    assert states == [(False, False)] * (len(text) - 1) + [(True, True)]


@pytest.mark.parametrize(
    "header",
    ["Content-Length: 1000000", "content-length: 9999999999", "Content-Length: x", "Content-Length: 5, 5",
     "Transfer-Encoding: chunked", "Expect: 100-continue\r\nContent-Length: 5"],
)  # fmt: skip
def test_bodies_that_are_large_or_of_unknown_size_are_not_awaited(header):
    text = f"POST / HTTP/1.1\r\n{header}\r\n\r\n".encode()

    assert list(arriving(text))[-1] == (True, False)


def test_an_endless_head_is_refused():
    with pytest.raises(HeadTooLong):
        list(arriving(*[b"a" * 10_000] * (MAX_HEAD // 10_000 + 2)))


def test_only_small_bodies_are_awaited():
    length = SMALL_REQUEST
    text = f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode()

    assert list(arriving(text)) == [(True, False)]
