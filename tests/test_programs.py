"""A test whose program is missing is skipped, or fails in continuous
integration.
"""

import re

import pytest

from tests.documents import ROOT, section
from tests.programs import require

pytestmark = pytest.mark.database_independent


def test_a_test_without_its_program_is_skipped(monkeypatch):
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="not installed: no-such, /no/file"):
        require("python3", __file__, "no-such", "/no/file")


def test_a_test_without_its_program_fails_in_continuous_integration(monkeypatch):
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="not installed: no-such-program"):
        require("no-such-program")


def test_the_documented_packages_are_those_of_continuous_integration():
    script = (ROOT / ".ci/run").read_text()
    entries = re.findall(r'^  "?(?:[\w-]+|/[^:]+):([a-z0-9 -]+)', script, re.MULTILINE)
    [installed] = re.findall(r"apt install ([^`]*)", section("CONTRIBUTING", "Set-up"))

    used = {package for entry in entries for package in entry.split()}
    assert {*used, "python3-venv"} == set(installed.replace("\\\n", "").split())
