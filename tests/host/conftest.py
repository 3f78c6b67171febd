"""Collect the tests of a host project only in a run with its settings.
test_host.py starts such runs.
"""

import pytest
from django.conf import settings

SETTINGS_OF_TESTS = {
    "notes": "tests.host.settings",
    "test_labels.py": "tests.host.settings_labelled",
}

collect_ignore = [
    path for path, name in SETTINGS_OF_TESTS.items() if name != settings.SETTINGS_MODULE
]


@pytest.fixture(autouse=True)
def routers(settings):
    """Use only the default database, because the replica of a test run stays
    empty.
    """
    settings.DATABASE_ROUTERS = []


@pytest.fixture(autouse=True)
def in_english(settings):
    """Show the pages of the host in English, in which the tests expect them."""
    settings.LANGUAGE_CODE = "en"
