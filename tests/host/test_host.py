"""The apps in host projects with other settings. test_same_bytes.py compares
the responses over HTTP.
"""

import pytest

from tests.nested import run_tests

pytestmark = pytest.mark.database_independent


@pytest.mark.parametrize(
    ("host", "tests"),
    [
        pytest.param(
            "settings",
            ["tests/host/notes"],
            id="an app, a site and a replica of the host",
        ),
        pytest.param(
            "settings_alone",
            ["tests/usergroups/test_user_groups.py"],
            id="usergroups without bookmarks",
        ),
        pytest.param(
            "settings_labelled",
            ["tests/host/test_labels.py"],
            id="other labels and the theme Unfold",
        ),
    ],
)
def test_the_tests_pass_with_the_settings_of_a_host_project(host, tests):
    # Playwright has an event loop.
    assert run_tests(f"tests.host.{host}", *tests, DJANGO_ALLOW_ASYNC_UNSAFE="true")
