"""Run tests in a process of their own, with other settings or on a partitioned
database.
"""

import os
import re
import subprocess
import sys

from tests.servers import TIMEOUT


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
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            f"--ds={settings}",
            "-q",
            "--numprocesses=0",
            "--hypothesis-profile=few",
            "-p",
            "no:cacheprovider",
            *arguments,
        ],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    return int(re.search(r"(\d+) passed", result.stdout)[1])
