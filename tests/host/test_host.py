"""The contract does not depend on the host project: its tests pass in one, and errors have the same bytes."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.servers import TIMEOUT

pytestmark = pytest.mark.once


def run_tests(settings, failures, *arguments):
    """Run tests with these settings. Return the answers that were errors, by test, and the number of tests."""
    environment = {**os.environ, "RECORD_FAILURES": str(failures)}
    if "DATABASE_URL" in environment:
        # The outer run uses the test database with the original name.
        environment["DATABASE_URL"] += f"_nested_{os.environ.get('PYTEST_XDIST_WORKER', '')}"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", f"--ds={settings}",
         "-q", "--numprocesses=0", "--hypothesis-profile=few", "-p", "no:cacheprovider", "--no-cov", *arguments],
        env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    return json.loads(failures.read_text()), int(re.search(r"(\d+) passed", result.stdout)[1])


@pytest.fixture(scope="module")
def failures_of_the_service(tmp_path_factory):
    """Return the errors of the two operations that are compared."""
    path = tmp_path_factory.mktemp("service") / "failures.json"
    operations = "update_user_group or (create_bookmark and not create_bookmarks)"
    failures, _ = run_tests("tests.settings", path, "tests/contract/test_answers.py", "-k", operations)
    return failures


@pytest.mark.parametrize(
    ("settings", "folders", "operations"),
    [
        (
            "tests.host.settings",
            ["tests/contract", "tests/usergroups", "tests/bookmarks"],
            ["update_user_group", "create_bookmark"],
        ),
        ("tests.host.settings_alone", ["tests/contract", "tests/usergroups"], ["update_user_group"]),
    ],
    ids=["both apps", "usergroups alone"],
)
def test_the_contract_holds_in_a_foreign_host(failures_of_the_service, tmp_path, settings, folders, operations):
    failures, passed = run_tests(settings, tmp_path / "failures.json", *folders)

    expected = {
        test: answers
        for test, answers in failures_of_the_service.items()
        if any(f"[{operation}" in test for operation in operations)
    }
    assert passed > len(expected) > 50 * len(operations)
    assert {test: failures.get(test) for test in expected} == expected


def test_a_replica_may_lag_behind(tmp_path):
    _, passed = run_tests("tests.host.settings_replica", tmp_path / "failures.json", "tests/host/replica")

    assert passed > 50


PARTS = ("tokens", "user_groups", "bookmarks", "files", "history", "german", "import_conflicts", "large_deletions")
ADMIN_TESTS = [f"tests/admin/test_{part}.py" for part in PARTS]

NOT_ABOUT_HTML = " and ".join(
    f"not {test}"
    for test in (
        "test_the_list_shows_access_expiry_and_last_use",
        "test_the_add_page_has_one_button",
        "test_bookmarks_are_filtered_by_date",
        "test_german",
    )
)
"""Excludes the tests of HTML, and of texts, that Unfold writes in another way."""


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [("tests.host.settings_admin", ["tests/host/people"]), ("tests.host.settings_unfold", ["-k", NOT_ABOUT_HTML])],
    ids=["Django", "Unfold"],
)
def test_the_admin_works_in_a_foreign_host(tmp_path, settings, arguments):
    _, passed = run_tests(settings, tmp_path / "failures.json", "tests/host/notes", *ADMIN_TESTS, *arguments)

    assert passed > 150
