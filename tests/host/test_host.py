"""The apps in host projects with other settings. test_same_bytes.py compares the responses over HTTP."""

import pytest

from tests.nested import run_tests

pytestmark = pytest.mark.once

OPERATIONS = ["tests/usergroups/test_update_user_group.py", "tests/usergroups/test_user_groups.py"]


@pytest.mark.parametrize(
    ("settings", "tests"),
    [
        pytest.param("settings_alone", OPERATIONS, id="usergroups without bookmarks"),
        pytest.param("settings_replica", ["tests/host/replica"], id="a replica that lags behind"),
        pytest.param("settings_labelled", ["tests/host/labelled"], id="other labels"),
        pytest.param("settings_admin", ["tests/host/notes", "tests/host/people"], id="an app and a site of the host"),
    ],
)
def test_the_apps_work_in_a_foreign_host(settings, tests):
    assert run_tests(f"tests.host.{settings}", *tests)
