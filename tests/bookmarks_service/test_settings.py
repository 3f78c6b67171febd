"""The settings of the service, which it reads from the environment."""

import os
import re
import runpy
from contextlib import closing
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import ConnectionHandler
from environs import EnvError

from tests.answers import error_code
from tests.bookmarks_service.service import environment, manage, run_python
from tests.documents import ROOT

pytestmark = pytest.mark.database_independent


IN_MEMORY = "sqlite://:memory:"


def load_settings(**variables):
    """Return the settings that the service has with these environment
    variables and no others.
    """
    variables = {"DATABASE_URL": IN_MEMORY, **variables}
    with patch.dict(os.environ, environment(**variables), clear=True):
        return runpy.run_path(str(ROOT / "bookmarks_service" / "settings.py"))


def load_application(first="", **variables):
    """Load the application in a new process, as a server does, after the
    statement ``first``.
    """
    return run_python("-c", f"{first}\nimport bookmarks_service.wsgi", **variables)


def test_the_garbage_collector_skips_what_was_loaded_at_the_start(tmp_path):
    variables = {"DEBUG": "1", "DATABASE_URL": f"sqlite:///{tmp_path}/db"}
    at_exit = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count()))"

    result = load_application(at_exit, **variables)

    assert int(result.stdout) > 10_000


NO_SECRET_KEY = (
    "Set SECRET_KEY to a long random string, or DEBUG=1 on a developer's machine.\n"
)
NO_DATABASE = (
    "Set DATABASE_URL to the database, such as "
    "postgres://user:password@host:5432/name, or DEBUG=1 on a developer's machine.\n"
)


@pytest.mark.parametrize(
    ("variables", "message"),
    [({}, NO_SECRET_KEY), ({"SECRET_KEY": "x"}, NO_DATABASE)],
    ids=["no secret key", "no database"],
)
def test_a_server_does_not_start_without_its_settings(variables, message):
    result = load_application(**variables)

    assert (result.returncode, result.stderr) == (1, message)


def test_the_value_of_a_variable_may_be_in_a_file(tmp_path):
    (tmp_path / "key").write_text("a key in a file\n")
    (tmp_path / "url").write_text("sqlite:////a/database\n")
    settings = load_settings(
        SECRET_KEY="another key",
        SECRET_KEY_FILE=str(tmp_path / "key"),
        DATABASE_URL_FILE=str(tmp_path / "url"),
    )

    assert settings["SECRET_KEY"] == "a key in a file"
    assert settings["DATABASES"]["default"]["NAME"] == "/a/database"


def test_a_command_names_the_variable_of_a_file_that_it_cannot_read():
    result = manage("check", SECRET_KEY="secret", DATABASE_URL_FILE="/no/such/file")

    message = (
        "DATABASE_URL_FILE is invalid. Set it to a file that the service can read."
    )
    assert (result.returncode, result.stderr) == (1, f"{message}\n")


MALFORMED = {
    "SECRET_KEY": ["", "   "],
    "DEBUG": ["maybe"],
    "DATABASE_URL": [
        "",
        "nonsense",
        "postgres://user:hunter2@host:port/name",
        "mysql://user:hunter2@host/name",
        "sqlite://path",
        # passwords that are not percent-encoded
        "postgres://user:1/hunter2@host/name",
        "postgres://user:1?hunter2=@host/name",
        "postgres://user:[hunter2@host/name",
    ],
    "DATABASE_POOL_SIZE": ["", "-1", "eight"],
    "CACHE_URL": ["localhost:6379", "http://:hunter2@host"],
    "BEHIND_TLS_PROXY": ["maybe"],
    "USERGROUPS_CALL_TIME_LIMIT": ["0", "1m"],
    "USERGROUPS_DELETION_RETENTION_DAYS": ["0", "36501", "90d"],
    "USERGROUPS_MAX_BODY_SIZE": ["0", "1e6"],
    "BOOKMARKS_MAX_IMPORT_SIZE": ["", "-1"],
    "USERGROUPS_CALL_RATE": [" ", "lots", "0/min", "60000", "10/month"],
    "USERGROUPS_FAILURE_RATE": ["lots"],
    "USERGROUPS_TRUSTED_PROXIES": ["", "-1", "one"],
    "OIDC_ISSUER": [" ", "sso.example", "ftp://sso.example"],
    "PASSWORD_LOGIN": ["maybe"],
    "PROMETHEUS_MULTIPROC_DIR": [" ", "/no/such/folder"],
    "OTEL_EXPORTER_OTLP_ENDPOINT": [" ", "localhost:4318"],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in MALFORMED.items() for value in values],
    ids=repr,
)
def test_a_malformed_value_is_reported_without_quoting_it(name, value):
    with pytest.raises((ImproperlyConfigured, EnvError), match=name) as error:
        load_settings(**{"SECRET_KEY": "x", name: value})

    assert "hunter2" not in str(error.value)  # the password in the URLs above


def test_a_folder_for_metrics_that_is_not_writable_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK | os.X_OK)

    with pytest.raises(ImproperlyConfigured, match="PROMETHEUS_MULTIPROC_DIR"):
        load_settings(SECRET_KEY="x", PROMETHEUS_MULTIPROC_DIR=str(tmp_path))


def test_the_server_and_commands_report_an_invalid_setting_in_one_line():
    url = "postgres://user:hunter2@host:99999/name"
    variables = {"SECRET_KEY": "x", "DATABASE_URL": url}

    results = [load_application(**variables), manage("migrate", **variables)]

    message = 'Environment variable "DATABASE_URL" invalid: Not a valid database URL.\n'
    assert [result.stderr for result in results] == [message] * 2


def test_commands_require_neither_a_secret_key_nor_debug():
    assert "create_roles" in manage("help", DATABASE_URL=IN_MEMORY).stdout


def test_commands_without_the_settings_of_the_service_use_no_other_database():
    result = manage("migrate")

    assert (result.returncode, result.stderr) == (1, NO_DATABASE)


def test_a_developer_needs_no_database_url():
    with patch.dict(os.environ, environment(DEBUG="1"), clear=True):
        loaded = runpy.run_path(str(ROOT / "bookmarks_service" / "settings.py"))

    assert loaded["DATABASES"]["default"]["NAME"] == str(ROOT / "db.sqlite3")


@pytest.mark.django_db
def test_sqlite_syncs_commits_and_waits_for_locks(tmp_path):
    url = f"sqlite:///{tmp_path / 'db.sqlite3'}"
    databases = load_settings(SECRET_KEY="x", DATABASE_URL=url)["DATABASES"]

    connection = ConnectionHandler(databases)["default"]
    with closing(connection), connection.cursor() as cursor:
        for name, value in (
            ("journal_mode", "wal"),
            ("synchronous", 2),  # FULL
            ("busy_timeout", 20_000),
        ):
            assert cursor.execute(f"PRAGMA {name}").fetchone() == (value,)
    assert databases["default"]["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.fixture
def https(settings):
    """Redirect to HTTPS, as the service does behind a TLS proxy."""
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.mark.parametrize("path", ["/", "/admin/", "/docs/", "/admin"])
def test_pages_redirect_to_https(client, https, path):
    assert client.get(path)["Location"] == f"https://testserver{path}"
    assert client.get("/", headers={"X-Forwarded-Proto": "https"}).status_code == 200


@pytest.mark.parametrize("path", ["/api/user", "/administrator"])
def test_api_calls_without_https_are_refused(client, https, path):
    response = client.get(path)
    secure = client.get(path, headers={"X-Forwarded-Proto": "https"})

    assert error_code(response, 400) == "bad_request"
    assert secure.json()["errors"][0]["code"] != "bad_request"


HTTPS = {"BEHIND_TLS_PROXY": "1"}
SIGN_ON = {
    "OIDC_ISSUER": "https://sso.example",
    "OIDC_CLIENT_ID": "a",
    "OIDC_CLIENT_SECRET": "b",
}
REFUSED = [
    ({**HTTPS, "DEBUG": "1"}, "DEBUG "),
    ({**HTTPS, "SECRET_KEY": "short"}, "SECRET_KEY "),
    ({**HTTPS, "ALLOWED_HOSTS": "a.example,*"}, "ALLOWED_HOSTS "),
    ({**HTTPS, **SIGN_ON, "OIDC_ISSUER": "http://a"}, "OIDC_ISSUER must begin with h"),
    ({**SIGN_ON, "OIDC_CLIENT_SECRET": ""}, "Set all of OIDC_ISSUER, "),
    ({"OIDC_CLIENT_ID": "a"}, "Set all of OIDC_ISSUER, "),
    ({"PASSWORD_LOGIN": "0"}, "PASSWORD_LOGIN is off, "),
]


@pytest.mark.parametrize(("variables", "message"), REFUSED, ids=str)
def test_unsafe_and_incomplete_settings_are_refused(variables, message):
    with pytest.raises(ImproperlyConfigured, match=f"^{message}"):
        load_settings(**{"SECRET_KEY": "x" * 50, **variables})


PACKAGES = {
    "authlib": SIGN_ON,
    "opentelemetry": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://host.example"},
    "prometheus_client": {"PROMETHEUS_MULTIPROC_DIR": "/tmp"},
}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_server_does_not_start_without_the_package_of_a_setting(package):
    result = load_application(
        f"import sys; sys.modules['{package}'] = None", DEBUG="1", **PACKAGES[package]
    )

    assert result.returncode == 1
    assert re.search(rf"^ModuleNotFoundError: .*{package}", result.stderr, re.MULTILINE)
