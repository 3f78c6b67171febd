"""Many calls of one token at once are all served, by one process."""

import asyncio

import pytest

from tests.benchmarks.bursts import batch, burst, post, search, update
from tests.bookmarks_service.nginx import Nginx
from tests.bookmarks_service.service import new_service
from tests.programs import require
from tests.servers import TIMEOUT

PATIENT = f"""
from django.apps import AppConfig

from bookmarks_service.settings import *

INSTALLED_APPS.append("patient.Patience")


class Patience(AppConfig):
    name = "patient"

    def ready(self):
        from usergroups.api import throttling

        throttling.MAX_WAIT = {TIMEOUT}
"""
"""Settings with which no call is refused because the machine is slow."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("settings")
    (folder / "patient.py").write_text(PATIENT)
    variables = {
        "DJANGO_SETTINGS_MODULE": "patient",
        "PYTHONPATH": str(folder),
        "GRANIAN_WORKERS": "1",
    }
    with new_service(tmp_path_factory, "bursts", **variables) as running:
        yield running


@pytest.fixture(scope="module")
def nginx(service, tmp_path_factory):
    require("nginx", "openssl")
    with Nginx(
        tmp_path_factory.mktemp("nginx"), f"127.0.0.1:{service.port}"
    ) as running:
        yield running


@pytest.mark.parametrize("server", ["service", "nginx"])
@pytest.mark.parametrize(
    ("kind", "number"),
    [(post, 200), (update, 200), (search, 32), (batch, 32)],
    ids=["bookmarks", "user group", "searches", "batches"],
)
def test_a_burst_of_one_token_is_served(service, server, kind, number, request):
    authorization = f"Bearer {service.access_token}"
    if kind is update:
        authorization = f"Token {service.api_token}"
    port = request.getfixturevalue(server).port

    statuses, _ = asyncio.run(burst(port, authorization, kind, number))

    assert statuses == {201 if kind is post else 200: number}
