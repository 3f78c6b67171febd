"""Rate limits of tokens and of failed authentications, which are counted by
address.

The fixture ``any_operation`` calls an operation with a valid token. A test
runs for each operation, or for those that it names in ``parametrize``.
"""

from unittest.mock import Mock

import pytest
from django.core.cache import caches
from django.test import RequestFactory

from tests.answers import error_code
from tests.operations import ONE_OF_EACH_SCHEME
from usergroups.api.requests import address_of
from usergroups.api.throttling import FailedAuthenticationThrottle, TokenThrottle

pytestmark = pytest.mark.database_independent


@pytest.fixture
def rates(settings):
    """Allow three calls in a minute.

    All tests run 1.5 seconds after its beginning (see ``reset_rate_limits``).
    """
    settings.USERGROUPS_CALL_RATE = "3/min"
    settings.USERGROUPS_FAILURE_RATE = "3/min"
    return settings


def test_a_token_is_throttled_over_its_rate(any_operation, valid_body, rates):
    answers = [any_operation(valid_body) for _ in range(4)]

    assert 429 not in [answer.status_code for answer in answers[:3]]
    assert error_code(answers[3], 429) == "throttled"
    assert answers[3]["Retry-After"] == "59"  # The window began 1.5 seconds ago.
    assert {answer["RateLimit-Policy"] for answer in answers} == {'"token";q=3;w=60'}
    assert [answer["RateLimit"] for answer in answers] == [
        f'"token";r={calls};t=59' for calls in (2, 1, 0, 0)
    ]


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_the_count_begins_anew_with_each_window(
    any_operation, valid_body, rates, monkeypatch
):
    for _ in range(3):
        any_operation(valid_body)
    assert any_operation(valid_body).status_code == 429

    # the beginning of the next minute
    monkeypatch.setattr(TokenThrottle, "timer", lambda self: 60)
    assert any_operation(valid_body)["RateLimit"] == '"token";r=2;t=60'


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_without_a_rate_calls_are_not_limited(any_operation, valid_body, settings):
    settings.USERGROUPS_CALL_RATE = settings.USERGROUPS_FAILURE_RATE = None

    for _ in range(5):
        response = any_operation(valid_body)

    assert response.status_code != 429
    assert "RateLimit" not in response
    assert "RateLimit-Policy" not in response


def call_with_bad_token(call, **extra):
    return call(HTTP_AUTHORIZATION=f"{call.scheme} x", **extra)


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_an_address_is_throttled_after_failed_authentications(
    any_operation, valid_body, rates
):
    answers = [call_with_bad_token(any_operation) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert error_code(answers[3], 429) == "throttled"
    assert answers[3]["Retry-After"] == "59"  # The window began 1.5 seconds ago.
    assert (
        call_with_bad_token(any_operation, REMOTE_ADDR="192.0.2.1").status_code == 401
    )
    # Clients with valid tokens may have the same address.
    assert any_operation(valid_body).status_code in (200, 201)


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_calls_without_a_token_are_not_counted_as_failures(
    any_operation, valid_body, rates
):
    for _ in range(5):
        assert any_operation(HTTP_AUTHORIZATION=None).status_code == 401

    assert any_operation(valid_body).status_code in (200, 201)


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_failures_are_counted_by_the_forwarded_address(any_operation, rates):
    rates.USERGROUPS_TRUSTED_PROXIES = 1
    addresses = ["192.0.2.1"] * 3 + ["192.0.2.2", "192.0.2.1"]

    statuses = [
        call_with_bad_token(any_operation, HTTP_X_FORWARDED_FOR=each).status_code
        for each in addresses
    ]

    assert statuses == [401, 401, 401, 401, 429]


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_failures_from_unknown_addresses_are_not_counted(any_operation, rates):
    for _ in range(4):
        response = call_with_bad_token(any_operation, REMOTE_ADDR="unknown")

    assert response.status_code == 401


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::"),  # A client has a whole /64 network.
        ("2001:db8:0:1::1", "2001:db8:0:1::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::"),
        ("", None),
        ("unknown", None),
        ("192.0.2.256", None),
        ("192.0.2.1:4711", None),
        ("[2001:db8::1]", None),
        ("\u0661.0.0.1", None),  # an Arabic digit
        ("1" * 100_000, None),
    ],
)
def test_addresses_are_parsed_and_reduced_to_their_network(settings, sent, counted):
    assert address_of(RequestFactory(REMOTE_ADDR=sent).get("/")) == counted
    settings.USERGROUPS_TRUSTED_PROXIES = 1
    assert address_of(RequestFactory(HTTP_X_FORWARDED_FOR=sent).get("/")) == counted


@pytest.mark.parametrize(
    ("trusted_proxies", "forwarded", "counted"),
    [
        (0, "192.0.2.1", "127.0.0.1"),  # The caller can set the header.
        (1, "192.0.2.1, 192.0.2.2", "192.0.2.2"),
        (2, "192.0.2.1, 192.0.2.2", "192.0.2.1"),
        (2, "2001:db8::1,unknown", "2001:db8::"),
        (1, "192.0.2.1, unknown", None),
        (3, "192.0.2.1, 192.0.2.2", None),  # A proxy was bypassed.
    ],
)
def test_the_address_is_the_one_that_the_outermost_trusted_proxy_saw(
    settings, trusted_proxies, forwarded, counted
):
    settings.USERGROUPS_TRUSTED_PROXIES = trusted_proxies

    assert (
        address_of(RequestFactory(HTTP_X_FORWARDED_FOR=forwarded).get("/")) == counted
    )


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_calls_are_counted_in_a_cache_of_their_own(any_operation, valid_body, rates):
    dummy = "django.core.cache.backends.dummy.DummyCache"
    local_memory = "django.core.cache.backends.locmem.LocMemCache"
    rates.CACHES = {
        "default": {"BACKEND": dummy},
        "usergroups": {"BACKEND": local_memory, "LOCATION": "counts"},
    }

    answers = [any_operation(valid_body) for _ in range(4)]

    assert error_code(answers[3], 429) == "throttled"


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_calls_are_not_limited_while_the_cache_is_unavailable(
    any_operation, valid_body, rates, caplog
):
    # Nothing listens on this port.
    unavailable = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": "redis://127.0.0.1:1/0",
    }
    rates.CACHES = {"default": unavailable}

    answers = [any_operation(valid_body) for _ in range(5)]

    assert 429 not in [answer.status_code for answer in answers]
    assert "Calls are not counted, because the cache is unavailable: " in caplog.text


@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_calls_without_permission_are_counted(any_operation, valid_body, rates):
    type(any_operation.token).objects.update(read_only=True)

    answers = [any_operation(valid_body) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [403, 403, 403, 429]
    assert all("RateLimit" in answer for answer in answers)


def test_each_call_but_the_first_of_a_window_takes_one_cache_operation(
    rates, monkeypatch
):
    add = Mock(wraps=caches["default"].add)
    increment = Mock(wraps=caches["default"].incr)
    monkeypatch.setattr(caches["default"], "add", add)
    monkeypatch.setattr(caches["default"], "incr", increment)
    throttle = FailedAuthenticationThrottle()

    assert [throttle.count("a") for _ in range(4)] == [1, 2, 3, 4]
    # The first call takes one of each.
    assert (add.call_count, increment.call_count) == (1, 4)


def test_a_call_counts_if_another_process_has_just_begun_the_window(monkeypatch):
    cache = caches["default"]
    add = cache.add

    def add_too_late(key, value, timeout):
        add(key, 5, timeout)
        return add(key, value, timeout)

    monkeypatch.setattr(cache, "add", add_too_late)
    throttle = TokenThrottle()

    assert throttle.count("token") == 6
