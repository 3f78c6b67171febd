"""schemathesis tests the running service against its OpenAPI document, with
the same calls each time.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import TIMEOUT

HOOKS = """
import schemathesis

# Schemathesis does not know this media type.
schemathesis.serializer.alias("application/jsonl", "application/octet-stream")
"""

CONFIG = """
hooks = "file_types"

[generation]
allow-x00 = false  # U+0000 is refused anywhere in a body, which JSON Schema cannot express.
allow-extra-parameters = false  # Only unknown query parameters are refused, not headers and fields of a body.

[checks]
# JSON Schema cannot express either that a string is a valid URL, id or cursor.
positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409", "412"]

[[operations]]
include-path-regex = "/batch(/[a-z]+)?$"
checks.negative_data_rejection.enabled = false  # The item is refused, not the call.

[[operations]]
include-path-regex = "^/api/"
headers = {{ Authorization = "Token {api_token}" }}

[[operations]]
include-path-regex = "^/v1/"
headers = {{ Authorization = "Bearer {access_token}" }}
"""


@pytest.mark.database_independent
def test_schemathesis_finds_no_failure(service, tmp_path):
    # The calls may delete all that the tokens give access to, so these get a
    # user group and a team of their own.
    headers = {"Authorization": f"Token {service.api_token}"}
    group = {"user_group_id": "schemathesis"}
    created = service.request("POST", "/api/user", json=group, headers=headers)
    assert created.status_code == 201
    issued = service.request(
        "POST", "/api/user/access-tokens", json=group, headers=headers
    ).json()["access_token"]
    api_token = service.manage(
        "create_api_token", "--team", "Schemathesis", "--create-team"
    ).stdout.strip()
    config = CONFIG.format(api_token=api_token, access_token=issued["secret"])
    (tmp_path / "schemathesis.toml").write_text(config)
    (tmp_path / "file_types.py").write_text(HOOKS)

    result = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            "run",
            f"{service.base_url}/schema/",
            "--phases",
            "examples,coverage,fuzzing",
            "--seed",
            "1",
            "--generation-deterministic",
            "--max-examples",
            "10",
            "--continue-on-failure",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )

    assert result.returncode == 0, result.stdout
    assert "Tested: 26" in result.stdout  # all operations
