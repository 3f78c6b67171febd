import pytest
from django.core.checks import run_checks
from django.test import override_settings

pytestmark = pytest.mark.django_db  # Django's own checks ask the database what it can do


def found(**settings):
    with override_settings(**settings):
        return [message.id for message in run_checks() if message.id.startswith("usergroups.")]


def test_the_defaults_pass_all_checks():
    assert found() == []


@pytest.mark.parametrize("size", [0, -1, 1.5, "1", None, True])
def test_the_body_limit_must_be_a_positive_integer(size):
    assert found(API_MAX_BODY_SIZE=size) == ["usergroups.E001"]


def test_time_zone_support_is_required():
    assert found(USE_TZ=False) == ["usergroups.E002"]


@pytest.mark.parametrize("setting", ["API_TOKEN_RATE", "API_FAILURE_RATE"])
@pytest.mark.parametrize("rate", ["", "x", "0/min", "10", "10/year", "-1/s", 10])
def test_invalid_rates_are_reported(setting, rate):
    assert found(**{setting: rate}) == ["usergroups.E003"]


@pytest.mark.parametrize("rate", [None, "1/s", "10/min", "10/hour", "10/d"])
def test_rates_have_the_format_of_rest_framework(rate):
    assert found(API_TOKEN_RATE=rate, API_FAILURE_RATE=rate) == []


@pytest.mark.parametrize("proxies", [-1, "1", None, True])
def test_the_number_of_trusted_proxies_must_be_an_integer(proxies):
    assert found(API_TRUSTED_PROXIES=proxies) == ["usergroups.E004"]
