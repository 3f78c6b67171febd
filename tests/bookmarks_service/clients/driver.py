"""Make the calls that standard input describes, each in a line of JSON, and
print the answers in the same way.
"""

import inspect
import json
import sys
from datetime import datetime

import openapi_client

BASE_URL = sys.argv[1]
APIS = [api for name, api in vars(openapi_client).items() if name.endswith("Api")]


def answer(call):
    """Return the status, the body and the model of an answer."""
    scheme, _, token = call["authorization"].partition(" ")
    name = f"{call['operation']}_with_http_info"
    configuration = openapi_client.Configuration(BASE_URL)
    if scheme == "Bearer":
        configuration.access_token = token
    else:
        configuration.api_key = {"UsergroupsApiToken": call["authorization"]}
    with openapi_client.ApiClient(configuration) as connection:
        [function] = [
            getattr(api(connection), name) for api in APIS if hasattr(api, name)
        ]
        arguments = dict(call["parameters"])
        for parameter in inspect.signature(function).parameters.values():
            if call["body"] is not None and hasattr(parameter.annotation, "from_dict"):
                arguments[parameter.name] = parameter.annotation.from_dict(call["body"])
        if call["file"] is not None:
            arguments["body"] = call["file"].encode()
        try:
            response = function(**arguments)
        except openapi_client.ApiException as error:
            return error.status, error.body, error.data
        return response.status_code, response.raw_data.decode(), response.data


def plain(parsed):
    """Return a model as it would be in JSON, or the text of a file."""
    if isinstance(parsed, bytes):
        return parsed.decode()
    if hasattr(parsed, "to_dict"):
        return parsed.to_dict()
    return parsed


for line in sys.stdin:
    status, content, parsed = answer(json.loads(line))
    result = {"status": status, "content": content, "parsed": plain(parsed)}
    print(json.dumps(result, default=datetime.isoformat), flush=True)
