"""Clients in Python that are generated from the OpenAPI document make every call, as they come out of the generator."""

import importlib
import inspect
import io
import json
import shutil
import subprocess
import sys
from datetime import datetime
from enum import EnumType
from pathlib import Path

import pytest

from tests.bookmarks_service.calls import CALLS, operations_of, resolved
from tests.contract.conftest import ANSWERED_IN_JSON, OPERATIONS

pytestmark = pytest.mark.once

BIN = Path(sys.executable).parent


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


@pytest.fixture(scope="module")
def openapi_python_client(tmp_path_factory, document_file):
    """Return a function that makes a call with the client, and returns the status, the body and the parsed body."""
    folder = tmp_path_factory.mktemp("openapi_python_client")
    (folder / "config.yml").write_text(CONFIGURATION)
    generate(
        folder, "openapi-python-client", "generate", "--fail-on-warning", "--path", document_file,
        "--config", "config.yml", "--output-path", "out",
    )  # fmt: skip
    sys.path.insert(0, str(folder / "out"))
    generated = importlib.import_module("generated")
    operations = operations_of(json.loads(document_file.read_text()))
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
        security = operations[call.operation][2]["security"]
        prefix, token = (
            ("Token", service.api_token) if "UsergroupsApiToken" in security[0] else ("Bearer", service.access_token)
        )
        with generated.AuthenticatedClient(service.base_url, token, prefix=prefix) as client:
            response = function(client=client, **arguments)
        return response.status_code, response.content, response.parsed

    make.operations = modules.keys()
    yield make
    sys.path.remove(str(folder / "out"))


@pytest.fixture(scope="module")
def openapi_generator(tmp_path_factory, document_file):
    """Return the same for the client of openapi-generator."""
    if shutil.which("java") is None:
        pytest.skip("openapi-generator needs Java, which is not installed")
    folder = tmp_path_factory.mktemp("openapi_generator")
    generate(folder, "openapi-generator-cli", "generate", "-i", document_file, "-g", "python", "-o", "out")
    sys.path.insert(0, str(folder / "out"))
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
                return error.status, error.body, error.data
        return response.status_code, response.raw_data, response.data

    make.operations = apis.keys()
    yield make
    sys.path.remove(str(folder / "out"))


def converted(value, annotation):
    """Return the value as a member of the enumeration among the types of a parameter, if there is one."""
    kinds = [each for each in getattr(annotation, "__args__", []) if isinstance(each, EnumType)]
    return kinds[0](value) if kinds else value


def model_of(annotation):
    """Return the model among the types of a parameter, which may be optional."""
    return next(each for each in getattr(annotation, "__args__", [annotation]) if hasattr(each, "from_dict"))


def text_of(parsed):
    """Return the text of a file that a client has received."""
    return parsed.decode() if isinstance(parsed, bytes) else parsed


@pytest.mark.parametrize("generator", ["openapi_python_client", "openapi_generator"])
def test_every_call_is_made(service, generator, request):
    make = request.getfixturevalue(generator)
    answers = {}

    for call in CALLS:
        status, content, parsed = make(service, call, *resolved([call.parameters, call.body], answers))

        assert status == call.status, (call, content)
        # The model has everything that was in the answer, and nothing else.
        if call.operation in ANSWERED_IN_JSON:
            told = json.dumps(parsed.to_dict(), default=datetime.isoformat).replace("+00:00", "Z")
            assert json.loads(told) == json.loads(content)
        else:
            assert text_of(parsed) == content.decode()
        if status < 400:
            answers[call.operation] = parsed

    assert answers.keys() == make.operations == OPERATIONS.keys()
