"""A client in TypeScript, with the types of openapi-typescript, makes every call, and the compiler checks each."""

import json

import pytest

from tests.bookmarks_service.calls import CALLS, Answered, operations_of
from tests.bookmarks_service.node import CLIENTS, install, needs_node, run
from tests.contract.conftest import ANSWERED_IN_JSON, OPERATIONS

pytestmark = [pytest.mark.once, needs_node]

CLIENT = """
import createClient from "openapi-fetch";
import type { paths } from "./schema";

declare const process: { argv: [string, string, string, string, string] };
const [, , baseUrl, ApiToken, AccessToken] = process.argv;
const client = createClient<paths>({ baseUrl });
const headers = {
  UsergroupsApiToken: { Authorization: `Token ${ApiToken}` },
  BookmarksAccessToken: { Authorization: `Bearer ${AccessToken}` },
};

function answered<T>(result: { data?: T; error?: unknown; response: Response }, status: number): T {
  if (result.response.status === status && result.data !== undefined) return result.data;
  throw new Error(`${result.response.url}: ${result.response.status} ${JSON.stringify(result.error)}`);
}

function failed<E>(result: { error?: E; response: Response }, status: number): E {
  if (result.response.status === status && result.error !== undefined) return result.error;
  throw new Error(`${result.response.url}: ${result.response.status} instead of ${status}`);
}
"""


def expression(value, latest):
    """Return a TypeScript expression for a value of a call."""
    if isinstance(value, Answered):
        return ".".join([latest[value.operation], *value.path])
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {expression(item, latest)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(expression(item, latest) for item in value) + "]"
    return json.dumps(value)


def statements(document):
    """Yield the statements of TypeScript that make the calls."""
    operations = operations_of(document)
    assert {call.operation for call in CALLS} == operations.keys() == OPERATIONS.keys()
    latest = {}
    for number, call in enumerate(CALLS):
        path, method, operation = operations[call.operation]
        places = {parameter["name"]: parameter["in"] for parameter in operation.get("parameters", [])}
        parameters = {
            place: {name: value for name, value in call.parameters.items() if places[name] == place}
            for place in {places[name] for name in call.parameters}
        }
        options = [f"params: {expression(parameters, latest)}"] if parameters else []
        options += [f"body: {expression(call.body, latest)}"] if call.body is not None else []
        if call.file is not None:
            options += [f"body: {json.dumps(call.file)}, bodySerializer: (file: string) => file"]
        if call.operation not in ANSWERED_IN_JSON:
            options += ['parseAs: "text"']
        options.append(f"headers: headers.{next(iter(operation['security'][0]))}")
        variable, check = f"{call.operation}_{number}", "answered" if call.status < 400 else "failed"
        result = f"await client.{method.upper()}({json.dumps(path)}, {{ {', '.join(options)} }})"
        succeeded = 1 if call.status < 400 else 0
        yield f"const {variable} = {check}({result}, {call.status});"
        if call.operation in ANSWERED_IN_JSON:
            yield f"export const succeeded_{number}: {succeeded} = {variable}.success;"
        else:
            yield f"export const length_{number}: number = {variable}.length;"
        if call.status < 400:
            latest[call.operation] = variable


@pytest.fixture(scope="module")
def compiled(request, tmp_path_factory, document_file):
    """Compile the client, and return the folder of the result."""
    folder = tmp_path_factory.mktemp("typescript")
    installed = install(request.config.cache)
    (folder / "node_modules").symlink_to(installed / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "narrowing.ts").write_bytes((CLIENTS / "narrowing.ts").read_bytes())
    script = "\n".join(statements(json.loads(document_file.read_text())))
    (folder / "client.ts").write_text(CLIENT + script)
    programs = folder / "node_modules" / ".bin"
    run(folder, programs / "openapi-typescript", document_file, "--output", "schema.d.ts")
    run(
        folder, programs / "tsc", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--target",
        "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--skipLibCheck", "client.ts", "narrowing.ts",
    )  # fmt: skip
    return folder


def test_every_call_is_made(compiled, service):
    run(compiled, "node", "client.js", service.base_url, service.api_token, service.access_token)
