"""The first steps of docs/api.md, from an empty database."""

import json
import re
import subprocess
import sys

from tests.bookmarks_service.service import (
    ROOT,
    documented_options,
    empty_database,
    environment,
    manage,
    server_command,
)
from tests.servers import TIMEOUT, free_port, listens, start_server, stop_server


def test_the_documented_script_makes_and_reads_a_bookmark(tmp_path):
    text = (ROOT / "docs/api.md").read_text()
    script = re.search(r"```sh\n(API_TOKEN=.*?)```", text, re.DOTALL)[1].replace(".venv/bin/python", sys.executable)
    port = free_port()

    with empty_database(tmp_path) as database_url:
        assert manage("migrate", DATABASE_URL=database_url).returncode == 0
        variables = environment(**documented_options(), DATABASE_URL=database_url, SECRET_KEY="not-a-secret")
        log = tmp_path / "log"
        server = start_server(server_command(port), log, lambda: listens(port), cwd=ROOT, env=variables)
        try:
            result = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script.replace("127.0.0.1:8000", f"127.0.0.1:{port}")],
                cwd=ROOT, env=environment(DATABASE_URL=database_url), capture_output=True, text=True, timeout=TIMEOUT,
                check=True,
            )  # fmt: skip
        finally:
            stop_server(server)

    group, created, listed = map(json.loads, result.stdout.splitlines())
    assert group["new_user_group"] is True
    assert created["user_group"] == group["user_group"]
    assert listed["bookmarks"] == [created["bookmark"]]
    assert created["bookmark"]["title"] == "Example"
