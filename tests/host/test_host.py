"""The contract and the admin work in a host project. test_same_bytes.py compares the responses over HTTP."""

import pytest

from tests.nested import run_tests

pytestmark = pytest.mark.once


@pytest.mark.parametrize("settings", ["settings", "settings_alone"], ids=["both apps", "usergroups alone"])
def test_the_contract_holds_in_a_foreign_host(settings):
    assert run_tests(f"tests.host.{settings}", "tests/contract")


def test_a_replica_may_lag_behind():
    assert run_tests("tests.host.settings_replica", "tests/host/replica")


def test_the_apps_may_have_other_labels():
    assert run_tests("tests.host.settings_labelled", "tests/host/labelled", "tests/contract/test_pagination.py")


ADMIN = [f"tests/admin/test_{part}.py" for part in ("tokens", "user_groups", "bookmarks", "files")]

WITH_OTHER_HTML = ["test_the_list_shows_access_expiry_and_last_use", "test_the_add_page_has_one_button",
                   "test_bookmarks_are_filtered_by_date"]  # fmt: skip
"""The tests of the admin that depend on HTML or texts that Unfold changes."""


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        ("settings_admin", ["tests/host/notes", "tests/host/people"]),
        ("settings_unfold", ["-k", " and ".join(f"not {test}" for test in WITH_OTHER_HTML)]),
    ],
    ids=["Django", "Unfold"],
)
def test_the_admin_works_in_a_foreign_host(settings, arguments):
    assert run_tests(f"tests.host.{settings}", *ADMIN, *arguments)
