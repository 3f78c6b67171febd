"""Input files and dry runs of commands."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError
from django.db import transaction
from tqdm import tqdm


class Source:
    """A file that a command reads, with a progress bar if standard error is a terminal."""

    def __init__(self, file: BinaryIO, size: int | None) -> None:
        self.file, self.size = file, size
        self.bar: tqdm[Any] = tqdm(total=size, unit="B", unit_scale=True, disable=None)

    def advance(self) -> None:
        """Update the progress bar to the current position in the file."""
        if self.size is not None:
            self.bar.update(self.file.tell() - self.bar.n)
            self.bar.refresh()


@contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a file, or standard input if the path is ``-``. Raises CommandError if it cannot be opened."""
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
def rollback_if(dry_run: bool, using: str) -> Iterator[None]:
    """Roll back all changes in the block if ``dry_run``.

    The changes hold their locks until the block ends. On SQLite this is the write lock.
    """
    if not dry_run:
        yield
        return
    with transaction.atomic(using=using):
        yield
        transaction.set_rollback(True, using=using)
