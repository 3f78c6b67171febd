"""Signals about the writes of both apps, sent after the commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.dispatch import Signal

created = Signal()
updated = Signal()
deleted = Signal()
rotated = Signal()
revoked = Signal()

actor: ContextVar[Any] = ContextVar("actor", default=None)
"""Who writes: the token of an API call, or the argument of ``acting_as``."""


@contextmanager
def acting_as(writer: Any) -> Iterator[None]:
    """Send the signals of all writes in the block with the ``actor`` ``writer``."""
    actor_before = actor.set(writer)
    try:
        yield
    finally:
        actor.reset(actor_before)
