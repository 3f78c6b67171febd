"""The contract holds wherever the apps are mounted: its tests pass in the host, and failures are the same bytes."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.servers import TIMEOUT

pytestmark = pytest.mark.once


def run(settings, failures, *folders):
    """Run tests under other settings and return how many passed and each failure that was answered."""
    environment = {**os.environ, "RECORD_FAILURES": str(failures)}
    if "DATABASE_URL" in environment:
        # The outer run is using the test database of the first name.
        environment["DATABASE_URL"] += f"_nested_{os.environ.get('PYTEST_XDIST_WORKER', '')}"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", f"--ds=tests.host.{settings}" if settings else "--ds=tests.settings",
         "-q", "--numprocesses=0", "--hypothesis-profile=few", "-p", "no:cacheprovider", "--no-cov", *folders],
        env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    return json.loads(failures.read_text()), int(re.search(r"(\d+) passed", result.stdout)[1])


@pytest.fixture(scope="module")
def failures_of_the_service(tmp_path_factory):
    failures, _ = run(None, tmp_path_factory.mktemp("service") / "failures.json", "tests/contract/test_answers.py")
    return failures


@pytest.mark.parametrize(
    ("settings", "folders", "operations"),
    [
        (
            "settings",
            ["tests/contract", "tests/usergroups", "tests/bookmarks"],
            ["update_user_group", "create_bookmark"],
        ),
        ("settings_alone", ["tests/contract", "tests/usergroups"], ["update_user_group"]),
    ],
    ids=["both apps", "usergroups alone"],
)
def test_the_contract_holds_in_a_foreign_host(failures_of_the_service, tmp_path, settings, folders, operations):
    failures, passed = run(settings, tmp_path / "failures.json", *folders)

    expected = {
        test: answers
        for test, answers in failures_of_the_service.items()
        if any(f"[{operation}" in test for operation in operations)
    }
    assert passed > len(expected) > 50 * len(operations)
    assert {test: failures.get(test) for test in expected} == expected


def test_the_admin_works_in_a_foreign_host(tmp_path):
    parts = [f"tests/admin/test_{part}.py" for part in ("tokens", "user_groups", "bookmarks", "files", "history")]

    _, passed = run("settings_admin", tmp_path / "failures.json", "tests/host/notes", *parts)

    assert passed > 100
