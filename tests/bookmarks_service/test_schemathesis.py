"""schemathesis tries what the OpenAPI document says, on the running service: all of its checks, calls in a row too."""

import subprocess
import sys
from pathlib import Path

CONFIG = """
[generation]
allow-x00 = false  # refused anywhere in a body, which JSON Schema cannot say
allow-extra-parameters = false  # unknown ones are ignored

[checks]
# That a text is a URL, an id or a cursor JSON Schema cannot say either.
positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409", "412"]

[[operations]]
include-path-regex = "/batch(/[a-z]+)?$"
checks.negative_data_rejection.enabled = false  # the item is refused, and not the call

[[operations]]
include-path-regex = "^/api/"
headers = {{ Authorization = "Token {api_token}" }}

[[operations]]
include-path-regex = "^/v1/"
headers = {{ Authorization = "Bearer {access_token}" }}
"""


def test_schemathesis_finds_no_failure(service, tmp_path):
    # Of another team, so that no call deletes the user group of the access token.
    api_token = service.manage("create_api_token", "--team", "Schemathesis", "--create-team").stdout.strip()
    config = CONFIG.format(api_token=api_token, access_token=service.access_token)
    (tmp_path / "schemathesis.toml").write_text(config)

    result = subprocess.run(
        [Path(sys.executable).with_name("schemathesis"), "run", f"{service.base_url}/schema/",
         "--max-examples", "30", "--continue-on-failure", "--no-color"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert result.returncode == 0, result.stdout
    assert "Tested: 24" in result.stdout
