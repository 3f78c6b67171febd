"""The environments of tox have the versions that their names promise, such as
``py311-django52-lowest-sqlite``.
"""

import os
import platform
import re
from importlib.metadata import requires, version

import django
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ENVIRONMENT = os.environ.get("TOX_ENV_NAME", "")

pytestmark = pytest.mark.skipif(
    not ENVIRONMENT, reason="runs in the environments of tox"
)


def test_the_environment_has_the_versions_of_its_name(settings):
    python, django_version, _, database = ENVIRONMENT.split("-")

    assert python == "py" + "".join(platform.python_version_tuple()[:2])
    assert django_version == "django" + "".join(map(str, django.VERSION[:2]))
    assert (
        settings.DATABASES["default"]["ENGINE"]
        == f"django.db.backends.{database.replace('sqlite', 'sqlite3')}"
    )


@pytest.mark.skipif(
    "-lowest-" not in ENVIRONMENT, reason="runs with the lowest dependencies"
)
def test_the_lowest_environment_has_the_lower_bounds_of_the_dependencies():
    extras = ("service", "postgres", "test")  # those that tox installs
    requirements = [
        each
        for each in map(Requirement, requires("django-usergroups-bookmarks"))
        if each.name != "django"  # Its version is in the name of the environment.
        and any(
            not each.marker or each.marker.evaluate({"extra": extra})
            for extra in extras
        )
    ]
    lowest = {
        each.name: Version(re.search(r">=([\d.]+)", str(each.specifier))[1])
        for each in requirements
    }

    assert {name: Version(version(name)) for name in lowest} == lowest
