"""What is measured for Prometheus. test_metrics_server.py tests how it is served."""

import re
import socket
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace

import promql_parser
import pytest
import yaml
from django.test import Client, RequestFactory
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator
from hypothesis import given
from hypothesis import strategies as st

from bookmarks_service import shared_metrics
from bookmarks_service.metrics import REGISTRY, operation_of
from bookmarks_service.shared_metrics import SharedMetrics
from tests.bookmarks.conftest import access_token, create_bookmark  # noqa: F401
from tests.bookmarks_service.service import ROOT, environment
from tests.servers import free_port
from tests.test_docs import blocks, page, rows_under
from usergroups.tokens.concurrency import expensive_call

REQUESTS = "bookmarks_service_requests_total"
THROTTLED = "bookmarks_service_throttled_requests_total"

pytestmark = pytest.mark.once


@pytest.fixture
def measured(settings):
    """Measure the requests of Django's test client. Return a function that returns the increase of a value."""
    settings.METRICS_ADDRESS = "127.0.0.1:9100"
    before = values_of(REGISTRY)
    return lambda name, **labels: values_of(REGISTRY).get(key(name, labels), 0) - before.get(key(name, labels), 0)


def key(name, labels):
    return name, *sorted(labels.items())


def values_of(registry):
    return {key(each.name, each.labels): each.value for family in registry.collect() for each in family.samples}


def test_the_documented_alerts_are_valid():
    documented = {row[0].strip("`") for row in rows_under(page("deploy"), "Metrics")}
    [rules] = [
        yaml.safe_load(block)["groups"][0]["rules"] for block in blocks(page("deploy"), "yaml") if "expr" in block
    ]

    assert len(rules) == 3
    for rule in rules:
        promql_parser.parse(rule["expr"])
        used = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"bookmarks_service_\w+", rule["expr"])}
        assert used
        assert used <= documented


def test_the_documented_scrape_configuration_has_the_documented_address():
    [configuration] = [yaml.safe_load(block) for block in blocks(page("deploy"), "yaml") if "scrape" in block]

    [[target]] = [each["targets"] for each in configuration["scrape_configs"][0]["static_configs"]]
    assert f"METRICS_ADDRESS={target}" in page("deploy")


def test_all_operations_are_counted_by_their_id():
    for path, methods in SchemaGenerator().get_schema(public=True)["paths"].items():
        for method, operation in methods.items():
            request = RequestFactory().generic(method.upper(), path)
            request.resolver_match = resolve(path)
            assert operation_of(request) == operation["operationId"]


OTHER_OPERATIONS = [
    ("/", "index"), ("/docs/", "docs"), ("/schema/", "schema"), ("/docs", "other"), ("/unknown", "other"),
    ("/admin/login/", "admin"), ("/admin/unknown/", "admin"), ("/static/admin/css/base.css", "static"),
    ("/livez", "livez"), ("/readyz", "readyz"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "operation"), OTHER_OPERATIONS)
def test_other_paths_are_counted_by_the_name_of_the_page(measured, client, db, path, operation):
    with closing(client.get(path)) as response:
        assert measured(REQUESTS, operation=operation, status=str(response.status_code)) == 1


def test_a_method_that_is_not_offered_is_counted_as_other(measured, client):
    client.generic("PURGE", "/api/user")
    client.generic("DISPATCH", "/api/user")

    assert measured(REQUESTS, operation="other", status="405") == 2


def test_arbitrary_requests_add_few_series(measured):
    client = Client()

    @given(st.text(st.characters(max_codepoint=255), min_size=1), st.sampled_from(["GET", "POST", "X", "A" * 50]))
    def request(path, method):
        client.generic(method, f"/{path}")

    request()
    before = len(values_of(REGISTRY))
    for n in range(1000):
        client.generic(f"M{n % 10}", f"/v1/{n}/{n}?n={n}")

    assert len(values_of(REGISTRY)) - before <= 2  # further statuses of the operation "other"


def test_the_queries_of_a_request_are_measured(measured, update_user_group, user_group):
    update_user_group({"user_group_id": user_group.provided_id, "name": "A"})

    labels = {"operation": "update_user_group"}
    assert measured("bookmarks_service_database_queries_total", **labels) == 4  # as in the request log
    seconds = measured("bookmarks_service_database_seconds_total", **labels)
    assert 0 < seconds < measured("bookmarks_service_request_duration_seconds_sum", **labels)


def test_calls_beyond_the_rate_of_a_token_are_counted(measured, settings, create_bookmark):  # noqa: F811
    settings.API_TOKEN_RATE = "1/day"

    statuses = [create_bookmark({"url": "https://example.com/"}).status_code for _ in range(3)]

    assert statuses == [201, 429, 429]
    assert measured(THROTTLED, kind="token_rate") == 2


def test_calls_of_a_blocked_address_are_counted(measured, settings, create_bookmark):  # noqa: F811
    settings.API_FAILURE_RATE = "1/day"
    invalid = {"HTTP_AUTHORIZATION": "Bearer unknown", "REMOTE_ADDR": "192.0.2.77"}

    statuses = [create_bookmark({}, **invalid).status_code for _ in range(3)]

    assert statuses == [401, 429, 429]
    assert measured(THROTTLED, kind="failed_authentications") == 2


def test_refused_expensive_calls_are_counted(measured, create_bookmark):  # noqa: F811
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(expensive_call(create_bookmark.token.user_group))
        response = create_bookmark(method="GET", QUERY_STRING="q=a")

    assert response.status_code == 429
    assert measured(THROTTLED, kind="expensive_calls") == 1


def test_nothing_is_measured_by_default(client, db):
    before = values_of(REGISTRY)
    client.get("/unknown")

    assert values_of(REGISTRY) == before


def load_without_optional_packages(**variables):
    """Load the application as a server does."""
    hide = "import sys; sys.modules.update(prometheus_client=None, opentelemetry=None)"
    return subprocess.run(
        [sys.executable, "-c", f"{hide}; import bookmarks_service.wsgi"],
        cwd=ROOT, env=environment(SECRET_KEY="x", **variables), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_service_needs_the_optional_packages_only_if_they_are_used():
    result = load_without_optional_packages()

    assert (result.returncode, result.stderr) == (0, "")


def test_missing_packages_for_traces_are_reported():
    result = load_without_optional_packages(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")

    assert result.returncode == 1
    assert result.stderr.endswith("Install the extra `otel`.\n")


def test_a_missing_package_for_metrics_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(SystemExit, match="METRICS_ADDRESS needs prometheus-client"):
        SharedMetrics("127.0.0.1:9100")


@pytest.mark.parametrize("address", ["9100", ":9100", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x"])
def test_an_invalid_address_is_reported(address):
    with pytest.raises(SystemExit, match="METRICS_ADDRESS is invalid"):
        shared_metrics.listen(address)


def test_an_address_in_use_is_reported(monkeypatch):
    monkeypatch.setattr(shared_metrics, "SECONDS", 0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"

        with pytest.raises(SystemExit, match=f"METRICS_ADDRESS={address} cannot be used: Address already in use"):
            shared_metrics.listen(address)


def test_an_ipv6_address_is_possible():
    with closing(shared_metrics.listen(f"[::1]:{free_port()}")) as listener:
        socket.create_connection(listener.getsockname()[:2]).close()


def test_a_worker_takes_the_lowest_free_number(monkeypatch):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    metrics = SharedMetrics(f"127.0.0.1:{free_port()}")
    with closing(metrics), closing(metrics.listener):
        workers = [SimpleNamespace() for _ in range(4)]
        for worker in workers[:3]:
            metrics.add(worker)
        metrics.remove(workers[1])
        metrics.add(workers[3])

    assert [worker.number for worker in workers] == [0, 1, 2, 1]
    assert not Path(metrics.folder).exists()
