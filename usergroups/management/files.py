"""Files and dry runs of commands."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

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
def open_target(path: str) -> Iterator[BinaryIO]:
    """Open a file for a command to write, or standard output if the path is ``-``. Raises OSError.

    A file appears under its name, or replaces the one that is there, only when the block ends without an exception.
    Devices, pipes and descriptors such as /dev/stdout are written directly.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    named = Path(path)
    mode = named.stat().st_mode if named.exists() else None
    if _is_descriptor(named) or (mode is not None and not stat.S_ISREG(mode)):
        with named.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))  # so that a symbolic link stays one
    temporary = target.with_name(f".{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _is_descriptor(path: Path) -> bool:
    """Return whether the path is one such as /dev/stdout or /dev/fd/3, whose file a shell has opened."""
    folder = Path(os.path.realpath(path.parent))
    return folder == Path("/dev") or folder.is_relative_to("/proc")


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
