import pytest
from django.core.checks import run_checks
from django.db import connection, connections
from django.test import override_settings

from usergroups.checks import check_databases

pytestmark = pytest.mark.django_db  # Django's own checks ask the database what it can do


def found(**settings):
    with override_settings(**settings):
        return [message.id for message in run_checks() if message.id.startswith("usergroups.")]


def test_the_defaults_pass_all_checks():
    assert found() == []


@pytest.mark.parametrize("size", [0, -1, 1.5, "1", None, True])
def test_the_body_limit_must_be_a_positive_integer(size):
    assert found(USERGROUPS_MAX_BODY_SIZE=size) == ["usergroups.E001"]


def test_time_zone_support_is_required():
    assert found(USE_TZ=False) == ["usergroups.E002"]


@pytest.mark.parametrize("setting", ["USERGROUPS_CALL_RATE", "USERGROUPS_FAILURE_RATE"])
@pytest.mark.parametrize("rate", ["", "x", "0/min", "10", "10/year", "-1/s", 10])
def test_invalid_rates_are_reported(setting, rate):
    assert found(**{setting: rate}) == ["usergroups.E003"]


@pytest.mark.parametrize("proxies", [-1, "1", None, True])
def test_the_number_of_trusted_proxies_must_be_an_integer(proxies):
    assert found(USERGROUPS_TRUSTED_PROXIES=proxies) == ["usergroups.E004"]


class RefuseMigrations:
    def allow_migrate(self, db, app_label, **hints):
        return False


def databases_found(**kwargs):
    return [message.id for message in check_databases(**kwargs)]


def test_other_databases_are_refused(monkeypatch):
    monkeypatch.setattr(connection, "vendor", "mysql")

    assert databases_found() == ["usergroups.E005"]


@pytest.mark.parametrize(("version", "problems"), [((3, 34, 1), 1), ((3, 35, 0), 0), ((3, 100, 0), 0)])
def test_sqlite_needs_a_certain_version(monkeypatch, version, problems):
    monkeypatch.setattr(connection, "vendor", "sqlite")
    monkeypatch.setattr(connection, "get_database_version", lambda: version)

    assert len(databases_found()) == problems


@pytest.fixture
def legacy_database(monkeypatch):
    """A second connection, to a database that is not supported."""
    other = connections.create_connection("default")
    other.vendor = "mysql"
    monkeypatch.setitem(connections.settings, "legacy", connection.settings_dict)
    connections["legacy"] = other


@pytest.mark.parametrize(
    ("routers", "problems"), [([], 1), ([f"{__name__}.RefuseMigrations"], 0)], ids=["allowed", "refused"]
)
def test_a_database_is_refused_only_if_the_apps_may_be_migrated_to_it(legacy_database, settings, routers, problems):
    settings.DATABASE_ROUTERS = routers

    assert databases_found() == []
    assert len(databases_found(databases=["default", "legacy"])) == problems
