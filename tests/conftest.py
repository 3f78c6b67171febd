import json
import logging
import os
import re
from io import StringIO
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode
from hypothesis import HealthCheck, settings

from tests.programs import require
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.api import throttling
from usergroups.api.throttling import FixedWindowThrottle
from usergroups.tokens import secret_format

# No deadline for an example or for the generation of its data, because a busy
# machine would miss them.
settings.register_profile(
    "default",
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# Fewer examples, for runs that repeat the tests on another database, in a host
# project or with other dependencies.
settings.register_profile("few", settings.get_profile("default"), max_examples=10)

SECRETS: set[str] = set()
"""The secrets of tokens that were issued in this process."""

LOG = StringIO()
"""Everything that was logged in this process."""

LONGEST = (
    # those that use the fixture "service", in one process
    (
        "tests/bookmarks_service/test_generated_client",
        "tests/bookmarks_service/test_http",
        "tests/bookmarks_service/test_concurrency",
        "tests/bookmarks_service/test_quickstart",
    ),
    "tests/host/test_five_minutes",
    "tests/host/test_host",
    "tests/bookmarks_service/test_nginx",
    "tests/bookmarks_service/test_faults",
    "tests/host/test_same_bytes",
    "tests/admin/test_browser",
    "tests/admin/test_accessibility",
    "tests/bookmarks_service/test_settings",
    "tests/citus/",
    "tests/bookmarks_service/test_costs",
    "tests/bookmarks_service/test_observability",
)
"""The beginnings of the node ids of the tests that take longest, in the order of
their time.
"""

SLOW = (
    # servers, browsers, clients and other programs
    "tests/bookmarks_service/",
    "tests/citus/",
    "tests/host/",
    "tests/admin/test_accessibility",
    "tests/admin/test_browser",
    "tests/bookmarks/test_browser_imports",
    "tests/test_packaging",
    "tests/test_docs",
    "tests/test_translations",
    # searches
    "tests/admin/test_hostile",
    "tests/bookmarks/test_file_costs",
    "tests/bookmarks/test_fuzz_files",
    # thousands of rows, and all migrations
    "tests/admin/test_lists.py::test_a_search_reads_only",
    "tests/admin/test_lists.py::test_pages_take",
    "tests/test_migrations",
)
"""The beginnings of the node ids of the tests that take seconds, because of
what the comments say.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, and spread the longest ones over the processes."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")
    items[:] = spread(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def spread(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Return the tests in an order in which each process begins with some of the
    longest, so that none is still busy with one when the others have finished.

    Each process first gets an equal part of the tests, which follow each other.
    """
    others = [
        item
        for item in items
        if not any(item.nodeid.startswith(name) for name in LONGEST)
    ]
    size = len(items) // processes
    ordered = []
    for number in range(processes):
        names = LONGEST[number::processes]
        part = [
            item for name in names for item in items if item.nodeid.startswith(name)
        ]
        room = max(0, size - len(part))
        ordered += part + others[:room]
        del others[:room]
    return ordered + others


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose program is missing before its fixtures are set up."""
    for marker in item.iter_markers("needs"):
        require(*marker.args)


@pytest.fixture(scope="session", autouse=True)
def no_secret_is_logged():
    """Fail at the end of the run if the log contains the secret of a token."""
    generate = secret_format.generate

    def generate_and_keep(*args: str) -> str:
        token = generate(*args)
        SECRETS.add(token)
        return token

    handler = logging.StreamHandler(LOG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_format, "generate", generate_and_keep)
        logging.getLogger().addHandler(handler)
        yield
        logging.getLogger().removeHandler(handler)
    # the format of a secret
    found = set(re.findall(r"[a-z]+_[0-9A-Za-z]{38}", LOG.getvalue()))
    assert not found & SECRETS


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Partition the tables of bookmarks and collections if TEST_PARTITIONS,
    the number of partitions, is set.
    """
    if "TEST_PARTITIONS" in os.environ:
        # for runs that tests/citus starts
        from tests.citus.partitions import partition  # noqa: PLC0415

        with django_db_blocker.unblock(), connection.cursor() as cursor:
            partition(cursor, int(os.environ["TEST_PARTITIONS"]))


class Caller:
    """Calls an operation with Django's test client, with the secret of a token
    from a factory.
    """

    def __init__(
        self, client: Client, method: str, url: str, scheme: str, token: Any
    ) -> None:
        self.client = client
        self.method = method
        self.url = url
        self.query: dict[str, Any] = {}
        """Parameters of the query string, for every call."""
        self.scheme = scheme
        self.token = token

    def __call__(
        self,
        body: Any = b"",
        method: str = "",
        query: dict[str, Any] | None = None,
        **extra: Any,
    ) -> HttpResponse:
        """Send ``body``, encoded as JSON unless it is bytes.

        The ``method`` replaces that of the operation, and ``query`` adds
        parameters to the query string. ``extra`` sets WSGI variables, or
        removes them with None.
        """
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        url = self.url
        query = {**self.query, **(query or {})}
        if query:
            url += f"?{urlencode(query, doseq=True)}"
        extra = {"HTTP_AUTHORIZATION": f"{self.scheme} {self.token.secret}", **extra}
        extra.setdefault("CONTENT_TYPE", "application/json")
        extra = {key: value for key, value in extra.items() if value is not None}
        return self.client.generic(method or self.method, url, body, **extra)


def comparable(response: HttpResponse) -> tuple[int, bytes, dict[str, str]]:
    """Return status, body and headers of an answer, without the headers that
    differ for each request.
    """
    headers = {
        name: value
        for name, value in response.items()
        if name not in ("X-Request-ID", "RateLimit")
    }
    return response.status_code, response.content, headers


@pytest.fixture(autouse=True)
def reset_rate_limits(monkeypatch):
    """Reset the rate limits, and stop their clock at 1.5 seconds, so that no
    window ends during a test.
    """
    cache.clear()
    # An earlier test may have made the cache fail.
    FixedWindowThrottle.cache_fails_until = 0
    monkeypatch.setattr(FixedWindowThrottle, "timer", lambda self: 1.5)


@pytest.fixture(autouse=True)
def calls_over_a_limit_do_not_wait(monkeypatch):
    """Refuse calls over a limit of calls in progress at once."""
    monkeypatch.setattr(throttling, "MAX_WAIT", 0)


@pytest.fixture
def api_client() -> Client:
    """Return a client that answers exceptions with 500, as the service does,
    instead of raising them.
    """
    return Client(raise_request_exception=False)


@pytest.fixture
def user_group(db):
    return UserGroupFactory()


@pytest.fixture
def api_token(user_group):
    """Return an API token that gives access to ``user_group``.

    A call with it does not write the time of its use.
    """
    return ApiTokenFactory(
        team=user_group.team, environment=user_group.environment, recently_used=True
    )


@pytest.fixture
def call_usergroups(api_client, api_token):
    """Return a function that calls the view with this URL name, with
    ``api_token`` by default.
    """

    def call(method, url_name, body=b"", query=None, token=api_token):
        url = reverse(f"usergroups:{url_name}")
        return Caller(api_client, method, url, "Token", token)(body, query=query)

    return call


@pytest.fixture
def update_user_group(api_client, api_token):
    """Return a function that sends a body to ``PUT api/user`` with
    ``api_token``.
    """
    return Caller(api_client, "PUT", reverse("usergroups:user"), "Token", api_token)
