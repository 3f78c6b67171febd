"""The files that commands read and write."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from django.core.management.base import CommandError
from tqdm import tqdm


@contextmanager
def open_source(path: str) -> Iterator[Any]:
    """Open a file to read once, or standard input if the path is ``-``. Raises CommandError if it cannot be opened.

    Reading shows a progress bar if standard error is a terminal.
    """
    is_stdin = path == "-"
    if is_stdin and sys.stdin is None:
        raise CommandError("Standard input is closed.")
    try:
        # Without a buffer, which would lose what it holds when a later read fails.
        file = open(sys.stdin.fileno() if is_stdin else path, "rb", buffering=0, closefd=not is_stdin)  # noqa: SIM115
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from None
    with file:
        os.set_blocking(file.fileno(), True)  # Another program may have changed this for standard input.
        status = os.fstat(file.fileno())
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        with tqdm.wrapattr(file, "read", total=size, disable=None) as source:
            yield source


@contextmanager
def open_target(path: str) -> Iterator[BinaryIO]:
    """Open a file for a command to write, or standard output if the path is ``-``.

    A file appears under its name, or replaces the one that is there, only when the block ends without an exception.
    Devices, pipes and descriptors such as /dev/stdout are written directly. Raises OSError with the path as filename.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with _open_file(Path(path)) as file:
            yield file
    except OSError as error:
        error.filename = path
        raise


@contextmanager
def _open_file(path: Path) -> Iterator[BinaryIO]:
    mode = path.stat().st_mode if path.exists() else None
    folder = Path(os.path.realpath(path.parent))
    is_descriptor = folder == Path("/dev") or folder.is_relative_to("/proc")  # such as /dev/stdout or /dev/fd/3
    if is_descriptor or (mode is not None and not stat.S_ISREG(mode)):
        with path.open("wb") as file:
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
