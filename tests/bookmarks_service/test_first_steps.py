"""The first steps of docs/api.md, from an empty database."""

import json
import re
import subprocess
import sys

import pytest

from tests.bookmarks_service.service import ROOT, Service, empty_database
from tests.servers import TIMEOUT


class EmptyService(Service):
    def create_data(self):
        assert self.manage("migrate").returncode == 0


@pytest.mark.once
def test_the_documented_script_makes_and_reads_a_bookmark(tmp_path):
    text = (ROOT / "docs/api.md").read_text()
    script = re.search(r"```sh\n(API_TOKEN=.*?)```", text, re.DOTALL)[1].replace(".venv/bin/python", sys.executable)

    with empty_database(tmp_path) as database_url, EmptyService(tmp_path, database_url) as service:
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script.replace("http://127.0.0.1:8000", service.base_url)],
            cwd=ROOT, env=service.environment(), capture_output=True, text=True, timeout=TIMEOUT, check=True,
        )  # fmt: skip

    group, created, listed = map(json.loads, result.stdout.splitlines())
    assert group["new_user_group"] is True
    assert created["user_group"] == group["user_group"]
    assert listed["bookmarks"] == [created["bookmark"]]
    assert created["bookmark"]["title"] == "Example"
