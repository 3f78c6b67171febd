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
