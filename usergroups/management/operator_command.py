"""The base class of the commands, and the options that several of them have."""

import sys
from argparse import ArgumentTypeError
from contextlib import suppress
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    no_translations,
)
from django.db import Error as DatabaseError

from usergroups.models import Environment

MAX_DAYS = 36_500  # about a century


class OperatorCommand(BaseCommand):
    """A command in English that ends with one line on standard error if it is
    interrupted or fails.

    ``--traceback`` shows more.
    """

    def describe_progress(self) -> str:
        """Return what to add to the message when the command ends early, such
        as what it has done.
        """
        return ""

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except SystemExit:
            # Otherwise, if standard output is a pipe whose reader is gone,
            # Python would print an error at exit.
            with suppress(OSError):
                sys.stdout.close()
            raise

    @no_translations
    def execute(self, *args: object, **options: object) -> None:
        try:
            super().execute(*args, **options)
            # Report a failure to write the rest of the output as well.
            self.stdout.flush()
        except KeyboardInterrupt:
            # 128 + SIGINT, as in a shell
            raise CommandError(
                self._with_progress("Interrupted"), returncode=130
            ) from None
        except OSError as error:
            raise CommandError(self._with_progress(str(error))) from error
        except DatabaseError as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            ending = self._with_progress(f"The database failed: {reason}")
            raise CommandError(ending) from error
        except ValidationError as error:
            # An argument is invalid, so there is no progress to report.
            raise CommandError(" ".join(error.messages)) from error

    def _with_progress(self, problem: str) -> str:
        """Return the last line of a command that ends early: the problem, and what
        the command has done.
        """
        return f"{problem}. {self.describe_progress()}".rstrip()


def utf8(value: str) -> str:
    """Return an argument as it is. Raises ValueError if it is not UTF-8."""
    # Python decodes other bytes as lone surrogates, which encode() refuses.
    value.encode()
    return value


def days(value: str) -> timedelta:
    """Convert an argument, a number of days."""
    if not 0 < int(value) <= MAX_DAYS:
        raise ArgumentTypeError(f"must be a number of days from 1 to {MAX_DAYS}")
    return timedelta(days=int(value))


def add_scope_options(parser: CommandParser) -> None:
    """Add the options ``--team`` and ``--environment``."""
    parser.add_argument("--team", required=True, type=utf8, metavar="NAME")
    parser.add_argument(
        "--environment", default="", choices=Environment.values, help="Default: none."
    )
