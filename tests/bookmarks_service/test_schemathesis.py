"""schemathesis tests the running service against its OpenAPI document, with
the same calls each time.
"""

import sys
from pathlib import Path

import pytest

from tests.operations import OPERATIONS
from tests.servers import run_program

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

# A time that is too long ago is valid, but answered with 410.
[[operations]]
include-path-regex = "/deletions$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "410"]

[[operations]]
include-path-regex = "/(batch(/[a-z]+)?|lookup)$"
checks.negative_data_rejection.enabled = false  # The item is refused, not the call.

[[operations]]
include-path-regex = "^/api/(?!token/rotate)"
headers = {{ Authorization = "Token {api_token}" }}

[[operations]]
include-path-regex = "^/v1/(?!token/rotate)"
headers = {{ Authorization = "Bearer {access_token}" }}

# A rotation needs no body. The document requires one, because a generated client
# would otherwise not send it.
[[operations]]
include-path-regex = "/token/rotate$"
checks.negative_data_rejection.expected-statuses = ["4xx", "201"]

# A rotation ends the token.
[[operations]]
include-path-regex = "^/api/token/rotate"
headers = {{ Authorization = "Token {rotated_api_token}" }}
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "409"]

[[operations]]
include-path-regex = "^/v1/token/rotate"
headers = {{ Authorization = "Bearer {rotated_access_token}" }}
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "409"]
"""


@pytest.mark.database_independent
def test_schemathesis_finds_no_failure(service, tmp_path):
    # The calls may delete all that the tokens give access to, so each token
    # gets a team of its own.
    api_token, _ = service.issue_tokens("API token")
    _, access_token = service.issue_tokens("access token")
    rotated_api_token, rotated_access_token = service.issue_tokens("rotation")
    config = CONFIG.format(
        api_token=api_token,
        access_token=access_token,
        rotated_api_token=rotated_api_token,
        rotated_access_token=rotated_access_token,
    )
    (tmp_path / "schemathesis.toml").write_text(config)
    (tmp_path / "file_types.py").write_text(HOOKS)

    options = {"--phases": "examples,coverage,fuzzing", "--seed": "1"}
    options["--max-examples"] = "2"
    result = run_program(
        Path(sys.executable).with_name("schemathesis"),
        "run",
        f"{service.base_url}/schema/",
        "--generation-deterministic",
        "--continue-on-failure",
        "--no-color",
        *(f"{name}={value}" for name, value in options.items()),
        cwd=tmp_path,
    )

    assert result.returncode == 0, result.stdout
    assert f"Tested: {len(OPERATIONS)}" in result.stdout
