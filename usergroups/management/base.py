"""The base class of the commands, the files that they read, and dry runs."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error, transaction

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of a program that Ctrl-C ends, as shells report it."""


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


@contextmanager
def open_source(path: str) -> Iterator[Any]:
    """Open a file to read once, or standard input if the path is ``-``. Raises CommandError if it cannot be opened."""
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
        yield file


class OperatorCommand(BaseCommand):
    """A command that ends with one line on standard error if it is interrupted, or if the database or an output fails.

    ``--traceback`` shows more. SIGTERM interrupts a command as Ctrl-C does, so that it cleans up.
    """

    def describe_progress(self) -> str:
        """Return what to add to the message when the command ends early, such as what it has done."""
        return ""

    def run_from_argv(self, argv: list[str]) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if sys.stdout is None:  # Its descriptor is closed.
            sys.exit("Standard output is closed.")
        try:
            super().run_from_argv(argv)
        finally:
            try:
                sys.stdout.flush()
            except OSError:  # Python would flush it again when it exits, and print a traceback.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            output: str | None = super().execute(*args, **options)
            self.stdout.flush()
        except KeyboardInterrupt:
            raise CommandError(self._ending("Interrupted"), returncode=INTERRUPTED) from None
        except OSError as error:
            raise CommandError(
                self._ending(f"{error.filename or 'Standard output'}: {error.strerror or error}")
            ) from error
        except Error as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise CommandError(self._ending(f"The database failed: {reason}")) from error
        return output

    def _ending(self, problem: str) -> str:
        return f"{problem}. {self.describe_progress()}".rstrip()

    def write_result(self, text: str) -> None:
        """Write to standard output at once. Call this within a transaction, which is rolled back if it fails."""
        self.stdout.write(text)
        self.stdout.flush()
