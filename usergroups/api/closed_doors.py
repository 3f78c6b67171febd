"""Refuse attributes of DRF's classes that have no effect in a host's subclass."""

from collections.abc import Mapping


def refuse_closed_doors(cls: type, closed_doors: Mapping[str, str]) -> None:
    """Raise TypeError if the class sets one of these attributes, each with a
    sentence that says what has an effect.
    """
    for name, sentence in closed_doors.items():
        if name in vars(cls):
            raise TypeError(f"{cls.__name__}.{name} has no effect. {sentence}")
