"""Run tests in a process of their own, with other settings or on a partitioned
database.
"""

import os
import re
import sys

from tests.servers import run_program


def run_tests(settings, *arguments, **variables):
    """Run tests with other settings and environment variables.

    Return how many passed; all must pass.
    """
    environment = {**os.environ}
    if environment.get("DATABASE_URL", "").startswith("postgres"):
        # The outer run uses the test database of the original name, and each
        # of its workers may call this function.
        environment["DATABASE_URL"] += (
            f"_nested_{os.environ.get('PYTEST_XDIST_WORKER', '')}"
        )
    pytest = ["-m", "pytest", f"--ds={settings}", "-q", "--numprocesses=0"]
    pytest += ["--hypothesis-profile=few", "-p", "no:cacheprovider"]
    environment |= variables
    result = run_program(sys.executable, *pytest, *arguments, env=environment)
    assert result.returncode == 0, result.stdout
    return int(re.search(r"(\d+) passed", result.stdout)[1])
