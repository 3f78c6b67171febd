"""Signals sent after the commit of a write in usergroups or bookmarks, with
``instances``, ``actor``, ``using`` and ``raw``, which is True if a fixture was
loaded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.dispatch import Signal

created = Signal()
updated = Signal()  # also with ``fields``, the names of the written fields
deleted = Signal()
rotated = Signal()  # A user group got a new token, or tokens got their ``successors``.
revoked = Signal()

actor: ContextVar[object] = ContextVar("actor", default=None)
"""The ``actor`` of the signals: the token of an API call, or the argument of
``acting_as``.
"""


@contextmanager
def acting_as(writer: object) -> Iterator[None]:
    """Make ``writer`` the ``actor`` in the signals of all writes in the block."""
    actor_before = actor.set(writer)
    try:
        yield
    finally:
        actor.reset(actor_before)
