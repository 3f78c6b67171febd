"""Record the signals that are sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import models
from django.dispatch import Signal
from django.test import TestCase

from usergroups import signals

NAMES = ("created", "updated", "deleted", "rotated", "revoked")

Sent = tuple[str, type[models.Model], dict[str, Any]]
"""The name of a signal, its sender and its arguments."""


@contextmanager
def received(*names: str) -> Iterator[list[Sent]]:
    """Yield a list to which the signals with these names, or else all signals, are added when they are sent."""
    sent: list[Sent] = []
    by_signal = {getattr(signals, name): name for name in names or NAMES}

    def receive(signal: Signal, sender: type[models.Model], **arguments: Any) -> None:
        sent.append((by_signal[signal], sender, arguments))

    for signal in by_signal:
        signal.connect(receive)
    try:
        yield sent
    finally:
        for signal in by_signal:
            signal.disconnect(receive)


@contextmanager
def recorded() -> Iterator[list[Sent]]:
    """Yield a list that has all signals of the block when the block ends.

    The transaction of a test is never committed, so the callbacks for the commit run at the end of the block.
    """
    with received() as sent, TestCase.captureOnCommitCallbacks(execute=True):
        yield sent


def expected(name: str, *instances: models.Model, actor: Any = None, **arguments: Any) -> Sent:
    return name, type(instances[0]), {"instances": [*instances], "actor": actor, "using": "default", **arguments}
