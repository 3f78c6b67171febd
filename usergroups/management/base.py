"""The base class of the commands."""

import os
import signal
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of a program that Ctrl-C ends, as shells report it."""


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
