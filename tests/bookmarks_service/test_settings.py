"""The settings of the service, which it reads from the environment."""

import logging
import os
import runpy
import subprocess
import sys
from contextlib import closing
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key
from django.db import ConnectionHandler

from tests.bookmarks_service.service import ROOT, environment, manage

pytestmark = pytest.mark.once

PRODUCTION = {"SECRET_KEY": get_random_secret_key(), "ALLOWED_HOSTS": "bookmarks.example", "HTTPS": "1"}


def load_settings(**variables):
    """Return the settings that the service has with these environment variables and no others."""
    with patch.dict(os.environ, environment(**variables), clear=True):
        return runpy.run_path(str(ROOT / "bookmarks_service" / "settings.py"))


def load_application(**variables):
    """Load the application as a server does."""
    return subprocess.run(
        [sys.executable, "-c", "import bookmarks_service.wsgi"],
        cwd=ROOT, env=environment(**variables), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_server_requires_a_secret_key_or_debug():
    result = load_application()

    assert result.returncode == 1
    assert result.stderr.endswith("Set SECRET_KEY to a long random string, or DEBUG=1 on a developer's machine.\n")


@pytest.mark.parametrize("variables", [{"DEBUG": "1"}, {"SECRET_KEY": "x"}], ids=["DEBUG", "SECRET_KEY"])
def test_a_secret_key_or_debug_is_sufficient(variables):
    assert load_settings(**variables)["SECRET_KEY"]


@pytest.mark.parametrize("origin", ["https://app.example/", "app.example", "*", "null", "https://a.example/path"])
def test_an_invalid_origin_is_reported(origin):
    with pytest.raises(ImproperlyConfigured, match="CORS_ALLOWED_ORIGINS is invalid"):
        load_settings(SECRET_KEY="x", CORS_ALLOWED_ORIGINS=f"https://b.example,{origin}")


def test_the_deployment_check_requires_a_secret_key():
    result = manage("check", "--deploy", HTTPS="1", ALLOWED_HOSTS="bookmarks.example")

    assert result.returncode == 1
    assert result.stderr.startswith("Set SECRET_KEY to a long random string")


@pytest.mark.parametrize(
    ("workers", "cache_url", "warnings"), [(1, "", 0), (2, "", 1), (2, "redis://127.0.0.1:6379/0", 0)]
)
def test_a_server_whose_processes_count_calls_separately_warns(caplog, workers, cache_url, warnings):
    with patch.dict(os.environ, CACHE_URL=cache_url):
        configuration = runpy.run_path(str(ROOT / "bookmarks_service" / "gunicorn.conf.py"))
        server = SimpleNamespace(cfg=SimpleNamespace(workers=workers), log=logging.getLogger("gunicorn.error"))
        configuration["on_starting"](server)

    assert caplog.text.count("each of the 2 processes counts calls separately") == warnings


def test_commands_require_neither():
    assert manage("check").returncode == 0
    assert "create_team" in manage("help").stdout


def test_the_secret_key_is_not_interpolated():
    assert load_settings(SECRET_KEY="$a#b %c=d")["SECRET_KEY"] == "$a#b %c=d"


@pytest.mark.parametrize("variable", ["DEBUG", "HTTPS", "API_MAX_BODY_SIZE"])
def test_an_invalid_value_is_reported(variable):
    result = manage("check", **{"SECRET_KEY": "x", variable: "maybe"})

    assert result.returncode == 1
    assert result.stderr.startswith(f'Environment variable "{variable}" invalid: ')


def test_the_deployment_check_is_clean():
    result = manage("check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("variables", [{"HTTPS": "0"}, {"SECRET_KEY": "short"}, {"DEBUG": "1"}])
def test_the_deployment_check_reports_unsafe_settings(variables):
    assert manage("check", "--deploy", "--fail-level", "WARNING", **{**PRODUCTION, **variables}).returncode == 1


def test_an_invalid_body_limit_is_reported():
    result = manage("check", SECRET_KEY="x", API_MAX_BODY_SIZE="0")

    assert result.returncode == 1
    assert "usergroups.E001" in result.stderr


@pytest.mark.django_db
def test_sqlite_syncs_commits_and_waits_for_locks(tmp_path):
    databases = load_settings(SECRET_KEY="x", DATABASE_URL=f"sqlite:///{tmp_path / 'db.sqlite3'}")["DATABASES"]

    with closing(ConnectionHandler(databases)["default"]) as connection, connection.cursor() as cursor:
        names = ("journal_mode", "synchronous", "busy_timeout")
        assert [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in names] == ["wal", 2, 20000]
    assert databases["default"]["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_each_url_of_a_standby_names_a_database():
    primary, *standbys = (f"postgres://user:{name}@{name}.example/bookmarks" for name in "abc")
    settings = load_settings(SECRET_KEY="x", DATABASE_URL=primary, REPLICA_URL=", ".join(standbys))

    hosts = {alias: database["HOST"] for alias, database in settings["DATABASES"].items()}
    assert hosts == {"default": "a.example", "replica_1": "b.example", "replica_2": "c.example"}
    assert settings["DATABASE_ROUTERS"] == ["bookmarks_service.standby_routing.StandbyRouter"]
    assert settings["MIDDLEWARE"][-1] == "bookmarks_service.standby_routing.read_from_standbys"


@pytest.mark.parametrize("variables", [{}, {"REPLICA_URL": ""}, {"REPLICA_URL": " ,"}], ids=str)
def test_without_a_standby_there_is_no_router_and_no_middleware(variables):
    settings = load_settings(SECRET_KEY="x", **variables)

    assert list(settings["DATABASES"]) == ["default"]
    assert "DATABASE_ROUTERS" not in settings
    assert "bookmarks_service.standby_routing.read_from_standbys" not in settings["MIDDLEWARE"]


@pytest.mark.parametrize(
    ("primary", "standby"),
    [
        ("sqlite:////a", "postgres://b/b"),
        ("", "postgres://b/b"),
        ("postgres://a/a", "sqlite:////b"),
        ("", "sqlite:////b"),
    ],
)
def test_standbys_require_postgresql(primary, standby):
    result = manage("check", SECRET_KEY="x", DATABASE_URL=primary, REPLICA_URL=standby)

    assert result.returncode == 1
    assert result.stderr == "REPLICA_URL requires PostgreSQL, and DATABASE_URL must be its primary server.\n"


@pytest.mark.parametrize("standby", ["garbage", "postgres://user:secret@[::b/b"])
def test_an_invalid_url_of_a_standby_is_refused(standby):
    result = manage("check", SECRET_KEY="x", DATABASE_URL="postgres://a/a", REPLICA_URL=standby)

    assert result.returncode == 1
    assert result.stderr == "REPLICA_URL is invalid. Set it to URLs such as postgres://user@host/name.\n"


def test_the_cache_is_chosen_by_url():
    caches = load_settings(SECRET_KEY="x", CACHE_URL="redis://127.0.0.1:6379/1")["CACHES"]

    assert caches["default"]["BACKEND"] == "django.core.cache.backends.redis.RedisCache"


@pytest.fixture
def https(settings):
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.mark.parametrize("path", ["/", "/admin/", "/docs/", "/schema/", "/admin", "/static/a"])
def test_pages_redirect_to_https(client, https, path):
    assert client.get(path)["Location"] == f"https://testserver{path}"
    assert client.get("/", headers={"X-Forwarded-Proto": "https"}).status_code == 200


@pytest.mark.parametrize("path", ["/api/user", "/v1/bookmarks", "/unknown", "/administrator"])
def test_api_calls_without_https_are_refused(client, https, path):
    response = client.get(path)
    secure = client.get(path, headers={"X-Forwarded-Proto": "https"})

    assert (response.status_code, response.json()["errors"][0]["code"]) == (400, "bad_request")
    assert secure.json()["errors"][0]["code"] != "bad_request"


def test_spaces_around_allowed_hosts_are_ignored():
    hosts = load_settings(SECRET_KEY="x", ALLOWED_HOSTS="a.example, b.example")["ALLOWED_HOSTS"]

    assert hosts == ["a.example", "b.example"]


def test_an_empty_variable_counts_as_unset():
    empty = load_settings(SECRET_KEY="x", **dict.fromkeys(["ALLOWED_HOSTS", "DATABASE_URL", "CACHE_URL"], ""))
    unset = load_settings(SECRET_KEY="x")

    assert (empty["DATABASES"], empty["CACHES"]) == (unset["DATABASES"], unset["CACHES"])


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, [False, False, False, 0, None]),
        ({"HTTPS": "1"}, [True, True, True, 31536000, ("HTTP_X_FORWARDED_PROTO", "https")]),
    ],
    ids=["default", "HTTPS"],
)
def test_https_is_off_unless_set(variables, expected):
    settings = load_settings(SECRET_KEY="x" * 32, **variables)

    names = ("SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_HSTS_SECONDS",
             "SECURE_PROXY_SSL_HEADER")  # fmt: skip
    assert [settings[name] for name in names] == expected


@pytest.mark.parametrize(
    "unsafe",
    [{"DEBUG": "1"}, {"SECRET_KEY": "short"}, {"ALLOWED_HOSTS": "a.example,*"}],
    ids=str,
)
def test_unsafe_settings_are_refused_in_production(unsafe):
    result = manage("check", **{"SECRET_KEY": "x" * 50, "HTTPS": "1", **unsafe})

    assert result.returncode == 1
    assert result.stderr.startswith(next(iter(unsafe)))
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("variable", "value"), [("API_FAILURE_RATE", "lots"), ("API_TRUSTED_PROXIES", "-1")])
def test_the_server_does_not_start_with_an_invalid_setting(variable, value):
    result = subprocess.run(
        [sys.executable, "-c", "import bookmarks_service.wsgi"],
        cwd=ROOT, env=environment(SECRET_KEY="x", **{variable: value}), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert result.returncode == 1
    assert f"ImproperlyConfigured: {variable} is no" in result.stderr
