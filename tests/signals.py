"""Record the signals that are sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import models
from django.dispatch import Signal
from django.test import TestCase

from usergroups import signals

NAMES = ("created", "updated", "deleted", "rotated", "revoked")


class Sent(NamedTuple):
    """A signal that was sent."""

    name: str
    sender: type[models.Model]
    arguments: dict[str, Any]


@contextmanager
def received(*names: str) -> Iterator[list[Sent]]:
    """Yield a list to which the signals with these names, or else all signals,
    are added when they are sent.

    Signals are sent after the commit. In a test whose transaction is never
    committed, use ``recorded``.
    """
    sent: list[Sent] = []
    by_signal = {getattr(signals, name): name for name in names or NAMES}

    def receive(signal: Signal, sender: type[models.Model], **arguments: Any) -> None:
        sent.append(Sent(by_signal[signal], sender, arguments))

    for signal in by_signal:
        signal.connect(receive)
    try:
        yield sent
    finally:
        for signal in by_signal:
            signal.disconnect(receive)


@contextmanager
def recorded() -> Iterator[list[Sent]]:
    """Yield a list that has all signals of the block when the block ends, as
    if its transaction were committed then.
    """
    with received() as sent, TestCase.captureOnCommitCallbacks(execute=True):
        yield sent


def expected(
    name: str, *instances: models.Model, actor: Any = None, **arguments: Any
) -> Sent:
    """Return a signal to compare with one that was sent.

    Django compares instances by primary key.
    """
    return Sent(
        name,
        type(instances[0]),
        {
            "instances": [*instances],
            "actor": actor,
            "using": "default",
            "raw": False,
            **arguments,
        },
    )
