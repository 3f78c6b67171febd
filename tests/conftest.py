import json
import logging
import os
import re
from collections import defaultdict
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode
from hypothesis import settings

from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.tokens import secret_format
from usergroups.tokens.throttling import CacheOutage, blocked_until

settings.register_profile("few", max_examples=10)

FAILURES: defaultdict[str, list[Any]] = defaultdict(list)
"""Each failure that was answered, by test: tests/host compares them."""


SECRETS: set[str] = set()
"""Each that was made in this process."""

LOG = StringIO()
"""All that was logged in this process, as the service writes it."""


@pytest.fixture(scope="session", autouse=True)
def no_secret_is_logged():
    """Fails at the end of the run if one was."""
    generate = secret_format.generate

    def generate_and_keep(prefix: str) -> str:
        token = generate(prefix)
        SECRETS.add(token)
        return token

    handler = logging.StreamHandler(LOG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_format, "generate", generate_and_keep)
        logging.getLogger().addHandler(handler)
        yield
        logging.getLogger().removeHandler(handler)
    found = set(re.findall(r"[a-z]+_[0-9A-Za-z]{38}", LOG.getvalue()))
    assert not found & SECRETS


def pytest_sessionfinish() -> None:
    if path := os.environ.get("RECORD_FAILURES"):
        Path(path).write_text(json.dumps(FAILURES))


class Caller:
    """Calls one operation over Django's handlers, as its client would send it."""

    def __init__(self, client: Client, method: str, url: str, scheme: str, token: Any) -> None:
        self.client, self.method, self.url, self.scheme, self.token = client, method, url, scheme, token

    def __call__(self, body: Any = b"", **extra: Any) -> HttpResponse:
        """``body``: bytes as they are, anything else as JSON; ``extra``: of WSGI's environment, None to remove."""
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        extra = {"HTTP_AUTHORIZATION": f"{self.scheme} {self.token.secret}", **extra}
        extra.setdefault("CONTENT_TYPE", "application/json")
        extra = {key: value for key, value in extra.items() if value is not None}
        response = self.client.generic(extra.pop("method", self.method), self.url, body, **extra)
        if response.status_code >= 400:
            headers = {
                name: response[name]
                for name in ("Allow", "Content-Type", "Retry-After", "WWW-Authenticate")
                if name in response
            }
            FAILURES[os.environ["PYTEST_CURRENT_TEST"]].append(
                [response.status_code, headers, response.content.decode()]
            )
        return response


def as_seen(response: HttpResponse) -> tuple[int, bytes, dict[str, str]]:
    """Return all of an answer but what no two have in common: the request's id and the calls that are left."""
    headers = {name: value for name, value in response.items() if name not in ("X-Request-ID", "RateLimit")}
    return response.status_code, response.content, headers


@pytest.fixture(autouse=True)
def no_calls_yet():
    """No test is throttled for what another one did."""
    cache.clear()
    CacheOutage.until = 0
    blocked_until.clear()


@pytest.fixture
def client() -> Client:
    """A client that gets the answer to a fault, as a caller does, and does not raise it."""
    return Client(raise_request_exception=False)


@pytest.fixture
def user_group(db):
    return UserGroupFactory()


@pytest.fixture
def api_token(user_group):
    return ApiTokenFactory(team=user_group.team, environment=user_group.environment, just_used=True)


@pytest.fixture
def call_usergroups(client, api_token):
    """Make a call to the path of this URL name with the team's API token."""

    def call(method, url_name, body=b"", query=None, token=api_token):
        query = f"?{urlencode(query)}" if query else ""
        return Caller(client, method, reverse(f"usergroups:{url_name}") + query, "Token", token)(body)

    return call


@pytest.fixture
def update_user_group(client, api_token):
    return Caller(client, "PUT", reverse("usergroups:user"), "Token", api_token)
