"""Clients that are generated from the OpenAPI document make every call, as they come out of the generator."""

import importlib
import inspect
import io
import json
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from datetime import datetime
from enum import EnumType
from pathlib import Path

import pytest

from tests.bookmarks_service.calls import CALLS, operations_of, resolved
from tests.bookmarks_service.node import CLIENTS, HAS_NODE, install, run
from tests.contract.conftest import ANSWERED_IN_JSON, OPERATIONS

pytestmark = pytest.mark.once

BIN = Path(sys.executable).parent
VALIDATOR = "package validator\n\nfunc Validate(interface{}) error { return nil }\n"
GUZZLE = Path("/usr/share/php/GuzzleHttp/autoload.php")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")

CONFIGURATION = """
post_hooks: []  # do not format it
package_name_override: generated
content_type_overrides:  # it knows no other binary body
  text/html: application/octet-stream
  text/csv: application/octet-stream
  application/jsonl: application/octet-stream
"""


def generate(folder, *command):
    subprocess.run([BIN / command[0], *command[1:]], cwd=folder, check=True, capture_output=True, text=True)


def authorization(document, service, call):
    """Return the scheme and the token of the call's operation."""
    security = operations_of(document)[call.operation][2]["security"]
    return ("Token", service.api_token) if "UsergroupsApiToken" in security[0] else ("Bearer", service.access_token)


@pytest.fixture(scope="module")
def document(document_file):
    return json.loads(document_file.read_text())


@pytest.fixture(scope="module")
def openapi_python_client(tmp_path_factory, document_file, document):
    """Return a function that makes a call with the client, and returns the status, the body and the parsed body."""
    folder = tmp_path_factory.mktemp("openapi_python_client")
    (folder / "config.yml").write_text(CONFIGURATION)
    generate(
        folder, "openapi-python-client", "generate", "--fail-on-warning", "--path", document_file,
        "--config", "config.yml", "--output-path", "out",
    )  # fmt: skip
    sys.path.insert(0, str(folder / "out"))
    generated = importlib.import_module("generated")
    modules = {
        path.stem: importlib.import_module(f"generated.api.{path.parent.name}.{path.stem}")
        for path in Path(generated.__file__).parent.glob("api/*/*.py")
        if path.stem != "__init__"
    }

    def make(service, call, parameters, body):
        function = modules[call.operation].sync_detailed
        known = inspect.signature(function).parameters
        renamed = {
            next(each for each in (name, f"{name}_", f"{name}_query") if each in known): value
            for name, value in parameters.items()
        }
        arguments = {name: converted(value, known[name].annotation) for name, value in renamed.items()}
        if body is not None:
            arguments["body"] = model_of(known["body"].annotation).from_dict(body)
        if call.file is not None:
            arguments["body"] = generated.types.File(io.BytesIO(call.file.encode()))
        prefix, token = authorization(document, service, call)
        with generated.AuthenticatedClient(service.base_url, token, prefix=prefix) as client:
            response = function(client=client, **arguments)
        return response.status_code, response.content.decode(), plain(response.parsed)

    yield make
    sys.path.remove(str(folder / "out"))


@pytest.fixture(scope="module")
def openapi_generator(tmp_path_factory, document_file):
    """Return the folder with the clients of openapi-generator, which takes as long for three languages as for one."""
    if shutil.which("java") is None:
        pytest.skip("openapi-generator needs Java, which is not installed")
    folder = tmp_path_factory.mktemp("openapi_generator")
    without = dict.fromkeys(["apiDocs", "modelDocs", "apiTests", "modelTests"], "false")
    languages = ("python", "go", "php")
    for language in languages:
        configuration = {
            "generatorName": language,
            "inputSpec": str(document_file),
            "outputDir": language,
            "globalProperties": {"apis": "", "models": "", "supportingFiles": "", **without},
        }
        (folder / f"{language}.json").write_text(json.dumps(configuration))
    generate(folder, "openapi-generator-cli", "batch", *(f"{language}.json" for language in languages))
    return folder


@pytest.fixture(scope="module")
def python(openapi_generator):
    """Return the same function for the client of openapi-generator in Python."""
    sys.path.insert(0, str(openapi_generator / "python"))
    client = importlib.import_module("openapi_client")
    suffix = "_with_http_info"
    apis = {
        name.removesuffix(suffix): api
        for api in vars(client).values()
        if inspect.isclass(api) and api.__name__.endswith("Api")
        for name in vars(api)
        if name.endswith(suffix)
    }

    def make(service, call, parameters, body):
        configuration = client.Configuration(
            service.base_url,
            api_key={"UsergroupsApiToken": f"Token {service.api_token}"},
            access_token=service.access_token,
        )
        with client.ApiClient(configuration) as connection:
            function = getattr(apis[call.operation](connection), call.operation + suffix)
            arguments = dict(parameters)
            if body is not None:
                name, model = next(
                    (name, parameter.annotation)
                    for name, parameter in inspect.signature(function).parameters.items()
                    if hasattr(parameter.annotation, "from_dict")
                )
                arguments[name] = model.from_dict(body)
            if call.file is not None:
                arguments["body"] = call.file.encode()
            try:
                response = function(**arguments)
            except client.ApiException as error:
                return error.status, error.body, plain(error.data)
        return response.status_code, response.raw_data.decode(), plain(response.data)

    yield make
    sys.path.remove(str(openapi_generator / "python"))


@contextmanager
def driver(service, document, folder, *command):
    """Run a program that makes calls with a client in another language, and yield the same function."""
    pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    with subprocess.Popen([*command, service.base_url], cwd=folder, text=True, **pipes) as program:

        def make(service, call, parameters, body):
            scheme, token = authorization(document, service, call)
            line = {
                "operation": call.operation, "parameters": parameters, "body": body, "file": call.file,
                "authorization": f"{scheme} {token}",
            }  # fmt: skip
            program.stdin.write(json.dumps(line) + "\n")
            program.stdin.flush()
            text = program.stdout.readline()
            assert text, (call, program.communicate())
            answer = json.loads(text)
            return answer["status"], answer["content"], answer["parsed"]

        yield make
        program.stdin.close()


@pytest.fixture(scope="module")
def go(openapi_generator, service, document):
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    folder = openapi_generator / "go"
    # The only package that the client imports checks the tags "validate" of structs. The client has none.
    (folder / "vendor/gopkg.in/validator.v2").mkdir(parents=True)
    (folder / "vendor/gopkg.in/validator.v2/validator.go").write_text(VALIDATOR)
    (folder / "vendor/modules.txt").write_text("# gopkg.in/validator.v2 v2.0.1\n## explicit\ngopkg.in/validator.v2\n")
    (folder / "driver").mkdir()
    shutil.copy(CLIENTS / "driver.go", folder / "driver")
    run(folder, "go", "build", "-o", "run", "./driver")
    with driver(service, document, folder, "./run") as make:
        yield make


@pytest.fixture(scope="module")
def php(openapi_generator, service, document):
    if shutil.which("php") is None or not GUZZLE.exists():
        pytest.skip("PHP or its package Guzzle is not installed")
    folder = openapi_generator / "php"
    shutil.copy(CLIENTS / "driver.php", folder)
    with driver(service, document, folder, "php", "driver.php") as make:
        yield make


@pytest.fixture(scope="module")
def orval(request, tmp_path_factory, service, document, document_file):
    if not HAS_NODE:
        pytest.skip("Node.js 20 is not installed")
    folder = tmp_path_factory.mktemp("orval")
    (folder / "node_modules").symlink_to(install(request.config.cache) / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}')
    shutil.copy(CLIENTS / "driver.ts", folder)
    programs = folder / "node_modules" / ".bin"
    for kind, file in ("fetch", "client.ts"), ("zod", "schemas.ts"):
        run(folder, programs / "orval", "--input", document_file, "--output", file, "--client", kind)
    run(
        folder,
        programs / "tsc",
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--skipLibCheck",
        "driver.ts",
    )
    with driver(service, document, folder, "node", "driver.js") as make:
        yield make


def converted(value, annotation):
    """Return the value as a member of the enumeration or as the time that a parameter has among its types."""
    kinds = getattr(annotation, "__args__", [])
    if datetime in kinds:
        return datetime.fromisoformat(value)
    return next((kind(value) for kind in kinds if isinstance(kind, EnumType)), value)


def model_of(annotation):
    """Return the model among the types of a parameter, which may be optional."""
    return next(each for each in getattr(annotation, "__args__", [annotation]) if hasattr(each, "from_dict"))


def plain(parsed):
    """Return a model as it would be in JSON, or the text of a file."""
    if isinstance(parsed, bytes):
        return parsed.decode()
    return (
        json.loads(json.dumps(parsed.to_dict(), default=datetime.isoformat)) if hasattr(parsed, "to_dict") else parsed
    )


def comparable(value):
    """Return a value of JSON in which the same times are equal, nulls are left out, and empty objects are lists.

    Go writes times without trailing zeros and leaves nulls out. PHP has no empty objects.
    """
    if isinstance(value, dict) and value:
        return {key: comparable(item) for key, item in value.items() if item is not None}
    if isinstance(value, dict | list):
        return [comparable(item) for item in value]
    return datetime.fromisoformat(value) if isinstance(value, str) and TIME.match(value) else value


@pytest.mark.parametrize("client", ["openapi_python_client", "python", "go", "php", "orval"])
def test_every_call_is_made(service, client, request):
    make = request.getfixturevalue(client)
    answers = {}

    for call in CALLS:
        status, content, parsed = make(service, call, *resolved([call.parameters, call.body], answers))

        assert status == call.status, (call, content)
        # The model has everything that was in the answer, and nothing else.
        if call.operation in ANSWERED_IN_JSON:
            assert comparable(parsed) == comparable(json.loads(content)), call
        else:
            assert parsed == content
        if status < 400:
            answers[call.operation] = parsed

    assert answers.keys() == OPERATIONS.keys()
