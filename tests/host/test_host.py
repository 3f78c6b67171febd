"""The tests of the contract and of the admin pass in a host project. test_same_bytes.py compares the responses."""

import pytest

from tests.nested import run_tests

pytestmark = pytest.mark.once


READERS = ("csv_files", "file_dates", "files", "fuzz_files", "html_encodings", "html_folders", "html_tokenizer")
NOT_ABOUT_HOSTS = [f"--ignore=tests/bookmarks/test_{name}.py" for name in (*READERS, "json_files", "programs")]


@pytest.mark.parametrize(
    ("settings", "folders"),
    [
        ("tests.host.settings", ["tests/contract", "tests/usergroups", "tests/bookmarks", *NOT_ABOUT_HOSTS]),
        ("tests.host.settings_alone", ["tests/contract", "tests/usergroups"]),
    ],
    ids=["both apps", "usergroups alone"],
)
def test_the_contract_holds_in_a_foreign_host(settings, folders):
    assert run_tests(settings, *folders) > 1000


def test_a_replica_may_lag_behind():
    assert run_tests("tests.host.settings_replica", "tests/host/replica") > 50


def test_the_apps_may_have_other_labels():
    assert run_tests("tests.host.settings_labelled", "tests/host/labelled", "tests/contract/test_pagination.py") > 50


PARTS = (
    "tokens",
    "token_secrets",
    "user_groups",
    "bookmarks",
    "files",
    "history",
    "german",
    "import_conflicts",
    "context",
    "moves",
    "exports",
    "reveal",
)
ADMIN_TESTS = [f"tests/admin/test_{part}.py" for part in PARTS]

NOT_ABOUT_HTML = " and ".join(
    f"not {test}"
    for test in (
        "test_the_list_shows_access_expiry_and_last_use",
        "test_the_add_page_has_one_button",
        "test_bookmarks_are_filtered_by_date",
        "test_german",
        "test_import_and_export_link_to_the_filtered_list",  # in breadcrumbs
    )
)
"""Excludes the tests that depend on HTML or texts that Unfold changes."""


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [("tests.host.settings_admin", ["tests/host/people"]), ("tests.host.settings_unfold", ["-k", NOT_ABOUT_HTML])],
    ids=["Django", "Unfold"],
)
def test_the_admin_works_in_a_foreign_host(settings, arguments):
    assert run_tests(settings, "tests/host/notes", *ADMIN_TESTS, *arguments) > 150
