"""The functions that a PUT and a POST pass, as docs/architecture.md lists them."""

import sys
from itertools import groupby
from textwrap import fill

import pytest

from tests.bookmarks.factories import AccessTokenFactory
from tests.conftest import Caller
from tests.documents import blocks, section

pytestmark = [pytest.mark.django_db, pytest.mark.database_independent]

PACKAGES = ("usergroups", "bookmarks", "bookmarks_service")


def functions_of(call):
    """Return the functions of the project that a call enters, each once, as
    pairs of module and name.
    """
    entered = {}

    def keep(frame, event, argument):
        module = frame.f_globals.get("__name__", "")
        name = frame.f_code.co_qualname
        # Comprehensions are functions in some versions of Python.
        if module.partition(".")[0] in PACKAGES and "<" not in name:
            entered[module, name] = None

    # Statements are compiled, and tokens marked as used, by the first call.
    call()
    sys.setprofile(keep)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [*entered]


def as_text(functions):
    """Return the functions, with their module before those that follow each
    other.
    """
    lines = []
    for module, group in groupby(functions, lambda function: function[0]):
        names = ", ".join(name for _, name in group)
        lines.append(fill(f"{module}: {names}", 79, subsequent_indent="    "))
    return "\n".join(lines) + "\n"


def test_the_documented_functions_are_those_of_a_put_and_a_post(
    api_client, api_token, user_group
):
    put = Caller(api_client, "PUT", "/api/user", "Token", api_token)
    access_token = AccessTokenFactory(user_group=user_group, recently_used=True)
    post = Caller(api_client, "POST", "/v1/bookmarks", "Bearer", access_token)
    body = {"user_group_id": user_group.provided_id, "name": "A name"}
    urls = iter(["https://example.com/1", "https://example.com/2"])

    of_the_put = functions_of(lambda: put(body))
    of_the_post = functions_of(lambda: post({"url": next(urls)}))
    others = [function for function in of_the_post if function not in of_the_put]
    walks = [as_text(of_the_put), as_text(others)]

    assert blocks(section("architecture", "A PUT and a POST"), "text") == walks
