"""The calls that ``tests.benchmarks.operations`` makes, and a process that makes them through an application's WSGI.

    python calls.py APPLICATION ACCOUNTS

Reads a line with the name of a part of an operation and a number of seconds, runs the part for this time and writes a
line with the number of runs, the CPU time of the process and the elapsed time. "statements OPERATION" counts the
statements that the driver sends to the database instead, including those for transactions and connections. The settings
are those of DJANGO_SETTINGS_MODULE, so this module does not import the package that it is in.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

PUT, POST, GET, LIST = "PUT /api/user", "POST /v1/bookmarks", "GET /v1/bookmarks/{id}", "GET /v1/bookmarks"
TITLE = "The title of a page, of the usual length"
PROPERTIES = {"plan": "pro", "seats": 25}


class Account(NamedTuple):
    """A user group, the secrets of its tokens and the id of one of its bookmarks."""

    user_group_id: str
    api_token: str
    access_token: str
    bookmark_id: str


class Call(NamedTuple):
    """A request, and the status of its response. "UNIQUE" in the body stands for a text that is new in each call."""

    method: str
    path: str
    authorization: str
    body: str
    status: int


def calls_of(account: Account) -> dict[str, Call]:
    """Return the call of each operation."""
    api_token, access_token = f"Token {account.api_token}", f"Bearer {account.access_token}"
    update = {"user_group_id": account.user_group_id, "name": "UNIQUE", "properties": PROPERTIES}
    new = {"url": f"https://www.example.com/articles/2026/11/22/{'x' * 20}/UNIQUE", "title": TITLE}
    return {
        PUT: Call("PUT", "/api/user", api_token, json.dumps(update), 200),
        POST: Call("POST", "/v1/bookmarks", access_token, json.dumps(new), 201),
        GET: Call("GET", f"/v1/bookmarks/{account.bookmark_id}", access_token, "", 200),
        LIST: Call("GET", "/v1/bookmarks", access_token, "", 200),
    }


def early_ends(call: Call) -> dict[str, Call]:
    """Return variants of a call that end early, in the order of the steps of a call."""
    return {
        "404": call._replace(path=call.path + "/no/such/path", status=404),
        "405": call._replace(method="PATCH", status=405),
        "401": call._replace(authorization="", status=401),
        "400": call._replace(body="{", status=400),
    }


class UniqueText:
    """Returns texts that no other process returns."""

    def __init__(self) -> None:
        self.start, self.count = str(time.time_ns()), 0

    def __call__(self) -> str:
        self.count += 1
        return f"{self.start}-{self.count}"


Part = Callable[[], Any]


class Caller:
    """Makes calls through WSGI, with each account in turn."""

    def __init__(self, application: Any, accounts: list[Account]) -> None:
        self.application, self.accounts, self.unique = application, accounts, UniqueText()

    def parts(self) -> dict[str, Part]:
        """Return a function for each operation that makes one call of it."""
        calls = [calls_of(account) for account in self.accounts]
        return {name: self.repeated([each[name] for each in calls]) for name in calls[0]}

    def early_ends(self) -> dict[str, Part]:
        """Return a function for each call that ends early."""
        return {
            f"{operation} {name}": self.repeated(
                [early_ends(calls_of(account)[operation])[name] for account in self.accounts]
            )
            for operation in (PUT, POST)
            for name in ("404", "405", "401", "400")
        }

    def repeated(self, calls: list[Call]) -> Part:
        endless = cycle(calls)
        return lambda: self.make(next(endless))

    def make(self, call: Call) -> None:
        body = call.body.replace("UNIQUE", self.unique()).encode()
        environ = {
            "REQUEST_METHOD": call.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": call.path,
            "RAW_URI": call.path,
            "QUERY_STRING": "",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_HOST": "127.0.0.1",
            "HTTP_AUTHORIZATION": call.authorization,
            "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_PORT": "50000",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_SOFTWARE": "Granian",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }
        if not call.authorization:
            del environ["HTTP_AUTHORIZATION"]
        statuses: list[str] = []
        response = self.application(environ, lambda status, headers, exc_info=None: statuses.append(status))
        content = b"".join(response)
        response.close()
        assert statuses[0].startswith(str(call.status)), (call.method, call.path, statuses, content)


def service_parts(accounts: list[Account]) -> dict[str, Part]:
    """Return a function for each part of the service's PUT and POST that can be run alone.

    They use the methods, serializers and renderers that the views use.
    """

    from bookmarks.models import AccessToken, Bookmark  # noqa: PLC0415
    from bookmarks.views import BookmarksView  # noqa: PLC0415
    from usergroups.models import ApiToken, UserGroup  # noqa: PLC0415
    from usergroups.views import UserGroupView  # noqa: PLC0415

    unique, own = UniqueText(), cycle(accounts)
    api_tokens = cycle([(ApiToken.objects.authenticate(each.api_token), each.user_group_id) for each in accounts])
    groups = cycle([AccessToken.objects.authenticate(each.access_token).user_group for each in accounts])
    calls = calls_of(accounts[0])
    bodies = {operation: json.loads(calls[operation].body) for operation in (PUT, POST)}
    group = next(groups)
    bookmark, _ = Bookmark.objects.add(user_group=group, url=f"https://example.com/{unique()}", title=TITLE)
    answers = {PUT: {"user_group": group}, POST: {"user_group": group, "bookmark": bookmark}}

    def change() -> None:
        token, provided_id = next(api_tokens)
        UserGroup.objects.change(provided_id, token.scope, name=unique(), properties=PROPERTIES)

    def add() -> None:
        url = f"https://www.example.com/articles/2026/11/22/{'x' * 20}/{unique()}"
        Bookmark.objects.add(user_group=next(groups), url=url, title=TITLE)

    parts: dict[str, Part] = {
        f"{PUT} look-up": lambda: ApiToken.objects.authenticate(next(own).api_token),
        f"{POST} look-up": lambda: AccessToken.objects.authenticate(next(own).access_token),
        f"{PUT} write": change,
        f"{POST} write": add,
    }
    for operation, view in ((PUT, UserGroupView), (POST, BookmarksView)):
        method = operation.partition(" ")[0]
        reader = view.request_serializers[method](context={"find_collection": None})
        writer, renderer = view.response_serializers[method](context={}), view.renderer_classes[0]()
        parts[f"{operation} validation"] = partial(reader.run_validation, bodies[operation])
        parts[f"{operation} envelope"] = partial(answer, writer, renderer, answers[operation])
    return parts


def answer(serializer: Any, renderer: Any, data: Any) -> bytes:
    """Return the body of the response with this data."""
    body: bytes = renderer.render(serializer.to_representation(data))
    return body


@contextmanager
def traced() -> Iterator[list[str]]:
    """Yield a list to which the statements are added when the block ends, as the driver sends them."""
    from django.db import connection  # noqa: PLC0415

    statements: list[str] = []
    connection.ensure_connection()
    raw: Any = connection.connection
    if connection.vendor == "sqlite":
        raw.set_trace_callback(statements.append)
        yield statements
        raw.set_trace_callback(None)
        return
    with tempfile.NamedTemporaryFile() as file:
        raw.pgconn.trace(file.fileno())
        yield statements
        raw.pgconn.untrace()
        messages = (line.split("\t") for line in Path(file.name).read_text().splitlines())
        # Messages of the frontend, F. Query has a statement; Execute runs one that Parse has prepared.
        statements += [
            message[3] for message in messages if message[1:2] == ["F"] and message[3] in ("Query", "Execute")
        ]


def statements_of(part: Part, count: int = 100) -> float:
    """Return the mean number of statements of a part."""
    with traced() as statements:
        for _ in range(count):
            part()
    return len(statements) / count


def measured(part: Part, seconds: float) -> tuple[int, float, float]:
    """Run a part until the time is over. Return how often it ran, and the CPU time and the elapsed time in seconds."""
    runs, start, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        part()
        runs += 1
    return runs, time.process_time() - cpu, time.perf_counter() - start


def serve(name: str, path: Path) -> None:
    """Respond to the lines of standard input. The first line of standard output lists the parts."""
    from django.core.wsgi import get_wsgi_application  # noqa: PLC0415

    accounts = [Account(*each) for each in json.loads(path.read_text())]
    is_service = name == "service"
    if is_service:
        from bookmarks_service.wsgi import application  # noqa: PLC0415  # with the service's settings only
    else:
        application = get_wsgi_application()
    caller = Caller(application, accounts)
    parts = caller.parts()
    if is_service:
        parts |= caller.early_ends() | service_parts(accounts)
    if name == "sql":
        del parts[GET], parts[LIST]
    for part in parts.values():
        for _ in accounts:  # The first call with a token saves its last use.
            part()
    print(json.dumps(list(parts)), flush=True)
    for line in sys.stdin:
        part, seconds = json.loads(line)
        operation = part.removeprefix("statements ")
        result = [statements_of(parts[operation])] if part != operation else measured(parts[part], seconds)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
