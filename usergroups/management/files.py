"""What commands that read a file share."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError
from django.db import transaction
from tqdm import tqdm


class Source:
    """A file that is being read, with a bar, on a terminal, that tells how far."""

    def __init__(self, file: BinaryIO, size: int | None) -> None:
        self.file, self.size = file, size
        self.bar: tqdm[Any] = tqdm(total=size, unit="B", unit_scale=True, disable=None)

    def advance(self) -> None:
        """Show how far the file has been read."""
        if self.size is not None:
            self.bar.update(self.file.tell() - self.bar.n)
            self.bar.refresh()


@contextmanager
def opened(path: str) -> Iterator[Source]:
    """Open the file; ``-`` is standard input. Raises CommandError."""
    if path == "-":
        yield Source(sys.stdin.buffer, None)
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from None
    with file:
        source = Source(file, Path(path).stat().st_size)
        with source.bar:
            yield source


@contextmanager
def undone(dry_run: bool, using: str) -> Iterator[None]:
    """Undo, if ``dry_run``, all that is done inside. Until then it is locked: on SQLite, others wait to write."""
    if not dry_run:
        yield
        return
    with transaction.atomic(using=using):
        yield
        transaction.set_rollback(True, using=using)
