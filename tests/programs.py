"""Find the programs that tests need.

A test whose program is missing is skipped. It fails instead if the environment
variable CI is set, so that continuous integration runs all tests.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

FOLDERS = [
    Path(sys.executable).parent,  # the programs of Python packages
    *os.environ["PATH"].split(os.pathsep),
    "/usr/sbin",
    "/usr/local/sbin",
    # Debian has the newest PostgreSQL in the last of these.
    *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
]
PATH = os.pathsep.join(map(str, FOLDERS))


def find(program: str) -> str | None:
    """Return the path of a program, or of a file if it begins with a slash."""
    if Path(program).is_file():
        return program
    return shutil.which(program, path=PATH)


def needs(*programs: str) -> pytest.MarkDecorator:
    """Mark a test, or the tests of a module, that ``require`` programs."""
    return pytest.mark.needs(*programs)


def require(*programs: str) -> None:
    """Skip the current test if a program is missing, or fail it if CI is set."""
    missing = [program for program in programs if find(program) is None]
    if not missing:
        return
    reason = f"not installed: {', '.join(missing)}"
    if "CI" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)
