from types import ModuleType

import pytest
from django.core.checks import run_checks
from django.db import connection, connections
from django.test import override_settings

from tests.answers import errors
from usergroups.checks import check_cache, check_databases

pytestmark = pytest.mark.django_db  # Django's own checks query the database.


def ids_of_errors(databases=None, **settings):
    with override_settings(**settings):
        return [
            message.id
            for message in run_checks(databases=databases)
            if message.id.startswith("usergroups.")
        ]


def test_the_defaults_and_the_database_of_the_tests_pass_all_checks():
    assert ids_of_errors(databases=["default"]) == []


@pytest.mark.parametrize(
    ("setting", "error", "others"),
    [
        ("USERGROUPS_MAX_BODY_SIZE", "usergroups.E001", []),
        ("USERGROUPS_CALL_TIME_LIMIT", "usergroups.E007", []),
        ("USERGROUPS_DELETION_RETENTION_DAYS", "usergroups.E008", [36_501]),
    ],
)
def test_a_limit_must_be_a_positive_integer(setting, error, others):
    for value in [0, -1, 1.5, "1", None, True, *others]:
        assert ids_of_errors(**{setting: value}) == [error]


def test_without_time_zone_support_only_the_calls_of_the_apps_fail(
    call_usergroups, settings
):
    settings.USE_TZ = False

    response = call_usergroups("GET", "users")

    assert ids_of_errors() == ["usergroups.W002"]
    assert errors(response, 500) == [(None, "internal_error")]


@pytest.mark.parametrize("setting", ["USERGROUPS_CALL_RATE", "USERGROUPS_FAILURE_RATE"])
@pytest.mark.parametrize("rate", ["", "x", "0/min", "10", "10/year", "-1/s", 10])
def test_invalid_rates_are_reported(setting, rate):
    assert ids_of_errors(**{setting: rate}) == ["usergroups.E003"]


@pytest.mark.parametrize("proxies", [-1, "1", None, True])
def test_the_number_of_trusted_proxies_must_be_an_integer_from_zero(proxies):
    assert ids_of_errors(USERGROUPS_TRUSTED_PROXIES=proxies) == ["usergroups.E004"]


@pytest.fixture
def sql_ascii(monkeypatch):
    """Let the check see a database in an encoding that is not supported."""
    monkeypatch.setattr("usergroups.checks._encoding", lambda connection: "SQL_ASCII")


@pytest.mark.usefixtures("sql_ascii")
def test_the_encoding_is_checked_only_if_databases_are_given():
    assert ids_of_errors() == []
    assert ids_of_errors(databases=["default"]) == ["usergroups.E006"]


@pytest.mark.usefixtures("sql_ascii")
def test_the_encoding_of_a_database_without_the_apps_may_be_any(settings):
    settings.DATABASE_ROUTERS = [f"{__name__}.RefuseMigrationsRouter"]

    assert ids_of_errors(databases=["default"]) == []


class RefuseMigrationsRouter:
    def allow_migrate(self, db, app_label, **hints):
        return False


def ids_of_database_errors(**kwargs):
    return [message.id for message in check_databases(**kwargs)]


@pytest.mark.parametrize(
    ("vendor", "driver", "errors"),
    [
        ("mysql", "MySQLdb", ["usergroups.E005"]),
        ("postgresql", "psycopg2", ["usergroups.E005"]),
        ("postgresql", "psycopg", []),
    ],
)
def test_other_databases_and_drivers_are_refused(monkeypatch, vendor, driver, errors):
    monkeypatch.setattr(connection, "vendor", vendor)
    monkeypatch.setattr(connection, "Database", ModuleType(driver))

    assert ids_of_database_errors() == errors


@pytest.mark.parametrize(
    ("version", "errors"), [((3, 34, 1), 1), ((3, 35, 0), 0), ((3, 100, 0), 0)]
)
def test_sqlite_must_have_at_least_the_version_3_35(monkeypatch, version, errors):
    monkeypatch.setattr(connection, "vendor", "sqlite")
    monkeypatch.setattr(connection, "get_database_version", lambda: version)

    assert len(ids_of_database_errors()) == errors


@pytest.fixture
def legacy_database(monkeypatch):
    """A second connection, to a database that is not supported."""
    other = connections.create_connection("default")
    other.vendor = "mysql"
    monkeypatch.setitem(connections.settings, "legacy", connection.settings_dict)
    connections["legacy"] = other


@pytest.mark.parametrize(
    ("routers", "errors"),
    [([], 1), ([f"{__name__}.RefuseMigrationsRouter"], 0)],
    ids=["allowed", "refused"],
)
def test_a_database_is_refused_only_if_the_apps_may_be_migrated_to_it(
    legacy_database, settings, routers, errors
):
    settings.DATABASE_ROUTERS = routers

    assert ids_of_database_errors() == []
    assert len(ids_of_database_errors(databases=["default", "legacy"])) == errors


LOCAL_MEMORY = "django.core.cache.backends.locmem.LocMemCache"
DUMMY = "django.core.cache.backends.dummy.DummyCache"


@pytest.mark.parametrize(
    ("caches", "warnings"),
    [
        ({"default": {"BACKEND": LOCAL_MEMORY}}, ["usergroups.W001"]),
        ({"default": {"BACKEND": DUMMY}}, ["usergroups.W001"]),
        (
            {
                "default": {
                    "BACKEND": LOCAL_MEMORY,
                    "OPTIONS": {"MAX_ENTRIES": 10_000},
                }
            },
            [],
        ),
        (
            {
                "default": {"BACKEND": DUMMY},
                "usergroups": {
                    "BACKEND": LOCAL_MEMORY,
                    "OPTIONS": {"MAX_ENTRIES": 10_000},
                },
            },
            [],
        ),
    ],
    ids=["Django's default", "dummy", "large", "a cache of its own"],
)
def test_a_cache_in_which_rate_limits_do_not_hold_is_reported(
    settings, caches, warnings
):
    settings.CACHES = caches

    assert [warning.id for warning in check_cache()] == warnings


def test_a_small_cache_is_not_reported_without_rate_limits(settings):
    settings.CACHES = {"default": {"BACKEND": LOCAL_MEMORY}}
    settings.USERGROUPS_CALL_RATE = None
    settings.USERGROUPS_FAILURE_RATE = None

    assert check_cache() == []
