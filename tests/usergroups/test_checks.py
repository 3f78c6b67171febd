import pytest
from django.core.checks import run_checks
from django.test import override_settings

pytestmark = pytest.mark.django_db  # Django's own checks ask the database what it can do


def found(**settings):
    with override_settings(**settings):
        return [message.id for message in run_checks() if message.id.startswith("usergroups.")]


def test_the_defaults_are_sound():
    assert found() == []


@pytest.mark.parametrize("size", [0, -1, 1.5, "1", None, True])
def test_the_body_limit_is_a_positive_integer(size):
    assert found(API_MAX_BODY_SIZE=size) == ["usergroups.E001"]


def test_times_are_points_in_time():
    assert found(USE_TZ=False) == ["usergroups.E002"]


@pytest.mark.parametrize("setting", ["API_TOKEN_RATE", "API_FAILURE_RATE"])
@pytest.mark.parametrize("rate", ["", "x", "0/min", "10", "10/year", "-1/s", 10])
def test_a_rate_is_calls_in_a_time(setting, rate):
    assert found(**{setting: rate}) == ["usergroups.E003"]


@pytest.mark.parametrize("rate", [None, "1/s", "10/min", "10/hour", "10/d"])
def test_rates_are_written_as_rest_framework_does(rate):
    assert found(API_TOKEN_RATE=rate, API_FAILURE_RATE=rate) == []


@pytest.mark.parametrize("proxies", [-1, "1", None, True])
def test_the_trusted_proxies_are_a_number(proxies):
    assert found(API_TRUSTED_PROXIES=proxies) == ["usergroups.E004"]
