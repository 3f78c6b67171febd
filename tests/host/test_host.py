"""The apps in host projects with other settings. test_same_bytes.py compares
the responses over HTTP.
"""

import pytest

from tests.documents import ROOT
from tests.nested import run_tests

pytestmark = pytest.mark.database_independent

MODULES = sorted(str(path) for path in (ROOT / "tests/host/notes").glob("test_*.py"))
"""The tests of a host with an app, a site and a replica. They run in two parts,
so that two processes can share them.
"""


@pytest.mark.parametrize(
    ("host", "tests"),
    [
        pytest.param("settings", MODULES[::2], id="an app, a site and a replica, 1"),
        pytest.param("settings", MODULES[1::2], id="an app, a site and a replica, 2"),
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
