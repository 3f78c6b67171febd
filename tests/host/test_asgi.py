"""Differences of Django's ASGI handler before a view can respond, which docs/plug-in.md describes."""

import asyncio

import pytest
from asgiref.sync import async_to_sync
from django.core.asgi import get_asgi_application

pytestmark = [pytest.mark.once, pytest.mark.django_db]

CHUNK = 64 * 1024 * b"a"
DISCONNECT = {"type": "http.disconnect"}


def post(events, *headers):
    """Send these events to the application.

    Return the events of the response, each with the number of events that the application had received.
    """
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/bookmarks",
        "headers": [(b"host", b"localhost"), *headers],
    }
    waiting, response = list(events), []

    async def receive():
        if not waiting:
            await asyncio.Event().wait()  # The client waits for the response.
        return waiting.pop(0)

    async def send(event):
        response.append((event, len(events) - len(waiting)))

    async_to_sync(get_asgi_application())(scope, receive, send)
    return response


def body(chunks, more_body=False):
    events = [{"type": "http.request", "body": CHUNK, "more_body": True} for _ in range(chunks)]
    events[-1]["more_body"] = more_body
    return events


@pytest.mark.parametrize(
    "headers",
    [[], [(b"authorization", b"Bearer unknown")], [(b"authorization", b"Token unknown")]],
    ids=["no token", "malformed token", "wrong scheme"],
)
def test_a_request_is_refused_only_after_its_whole_body_was_received(headers):
    events = body(chunks=320)  # 20 MiB

    [(start, received), *_] = post(events, *headers)

    assert start["status"] == 401
    assert received == 320


def test_a_body_that_ends_too_early_gets_no_response():
    assert post([*body(chunks=2, more_body=True), DISCONNECT], (b"content-length", b"1000000")) == []
