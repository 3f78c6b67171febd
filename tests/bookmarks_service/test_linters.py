"""Two linters find nothing wrong with the OpenAPI document, not even a warning."""

import json

import pytest

from tests.bookmarks_service.node import install, needs_node, run

pytestmark = [pytest.mark.once, needs_node]


@pytest.fixture(scope="module")
def programs(request):
    return install(request.config.cache) / "node_modules" / ".bin"


def test_redocly_finds_nothing(programs, document_file):
    found = run(
        document_file.parent, programs / "redocly", "lint", "--extends=recommended", "--format=json", document_file
    )

    assert json.loads(found)["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}


def test_spectral_finds_nothing(programs, document_file):
    rules = document_file.with_name("spectral.json")
    rules.write_text('{"extends": ["spectral:oas"]}')

    run(document_file.parent, programs / "spectral", "lint", "--ruleset", rules, "--fail-severity=hint", document_file)
