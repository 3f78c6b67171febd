"""A test whose program is missing is skipped, or fails in continuous integration."""

import pytest

from tests.programs import require

pytestmark = pytest.mark.database_independent


def test_a_test_with_its_programs_runs():
    require("python3", __file__)


def test_a_test_without_its_program_is_skipped(monkeypatch):
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="not installed: no-such-program, /no/file"):
        require("python3", "no-such-program", "/no/file")


def test_a_test_without_its_program_fails_in_continuous_integration(monkeypatch):
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="not installed: no-such-program"):
        require("no-such-program")
