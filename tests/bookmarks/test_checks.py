import pytest
from django.core.checks import run_checks
from django.test import override_settings

pytestmark = pytest.mark.django_db  # Django's own checks ask the database what it can do


@pytest.mark.parametrize("size", [0, -1, 1.5, "1", None, True])
def test_the_maximum_size_of_an_import_must_be_a_positive_integer(size):
    with override_settings(BOOKMARKS_MAX_IMPORT_SIZE=size):
        found = [message.id for message in run_checks() if message.id.startswith("bookmarks.")]

    assert found == ["bookmarks.E001"]
