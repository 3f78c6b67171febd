"""Examples in the documents are run, and tables and links are compared with the code."""

import ast
import io
import json
import os
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import django
import pytest
from django.apps import apps
from django.core.cache import cache
from django.core.management import get_commands, load_command_class
from django.db.models import UniqueConstraint
from django.dispatch import Signal
from django.test import Client
from django.urls import resolve, reverse
from drf_spectacular.generators import SchemaGenerator

from bookmarks import conf as bookmarks_conf
from bookmarks.files.importing import read
from bookmarks.files.records import NAMES
from bookmarks.models import Bookmark
from bookmarks_service.postgresql_connections import LIMITS
from tests.bookmarks.conftest import access_token, create_bookmark  # noqa: F401
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.bookmarks.test_program_tables import EXPECTED as EXPECTED_TABLES
from tests.bookmarks.test_programs import EXPECTED as EXPECTED_HTML
from tests.bookmarks.test_programs import PROGRAMS
from tests.bookmarks_service.service import documented_options
from tests.servers import TIMEOUT
from tests.signals import recorded
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups import signals
from usergroups.contract import conf
from usergroups.tokens.models import Token

ROOT = Path(__file__).parent.parent
README, *PAGES = DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
PACKAGES = ("usergroups", "bookmarks", "bookmarks_service")

COMMAND_VERBS = ("create_a", "create_c", "create_r", "create_u", "export_", "finish_", "import_", "sync_")
"""Prefixes of the names of commands, which no method in the documents has."""

CURL = ArgumentParser(prog="curl")
CURL.add_argument("url")
CURL.add_argument("-X", dest="method", default="GET")
CURL.add_argument("-H", dest="headers", action="append", default=[])
CURL.add_argument("-d", dest="body", default="")
CURL.add_argument("--data-binary", dest="file")
CURL.add_argument("-o", dest="output")


def page(name):
    return (ROOT / "docs" / f"{name}.md").read_text()


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def rows_under(text, heading):
    """Return the rows of all tables in a section, without their headings, as lists of cells."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]
    tables = re.findall(r"^\|[^\n]*\n\|[ |-]+\|\n((?:\|[^\n]*\n)+)", section, re.MULTILINE)
    rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for table in tables for line in table.splitlines()]
    assert rows, heading
    return rows


def first_names(rows):
    """Return the word in code style that begins each row."""
    return {re.match(r"`(\w+)", row[0])[1] for row in rows}


class DocumentedAnswers:
    """The answers in a document. A placeholder has the same value in the whole document."""

    ANYTHING = ("<TIME>",)

    def __init__(self, values):
        self.values = dict(values)

    def fill_in(self, text):
        return re.sub(r"<[A-Z_]+>", lambda match: self.values[match[0]], text)

    def resolved(self, shown, actual):
        """Return ``shown`` with its placeholders replaced. New placeholders get their value from ``actual``."""
        if isinstance(shown, dict) and isinstance(actual, dict):
            return {key: self.resolved(value, actual.get(key)) for key, value in shown.items()}
        if isinstance(shown, list) and isinstance(actual, list) and len(shown) == len(actual):
            return [self.resolved(*pair) for pair in zip(shown, actual, strict=True)]
        if not (isinstance(shown, str) and re.fullmatch(r"<[A-Z_]+>", shown) and isinstance(actual, str)):
            return shown
        return actual if shown in self.ANYTHING else self.values.setdefault(shown, actual)


def make_call(client, command):
    call = CURL.parse_args(shlex.split(command.replace("\\\n", ""))[1:])
    headers = dict(header.split(": ", 1) for header in call.headers)
    content_type = headers.pop("Content-Type", "")
    path = call.url.removeprefix("http://127.0.0.1:8000")
    body = (PROGRAMS / call.file.removeprefix("@")).read_bytes() if call.file else call.body
    return client.generic(call.method, path, body, content_type, headers=headers)


@pytest.mark.django_db
@pytest.mark.parametrize(("document", "number"), [(README, 2), (ROOT / "docs/api.md", 13)], ids=["README", "api"])
def test_the_documented_calls_have_the_documented_answers(client, document, number):
    text = document.read_text()
    user_group = UserGroupFactory(team__id=1, provided_id="example_1", name="Example 1")
    documented = DocumentedAnswers(
        {
            "<API_TOKEN>": ApiTokenFactory(team=user_group.team).secret,
            "<ACCESS_TOKEN>": AccessTokenFactory(user_group=user_group).secret,
        }
    )
    example = r"```sh\n(curl (?!-o).*?)```.*?The response has the status (\d+):\n\n```json\n(.*?)```"
    calls = re.findall(example, text, re.DOTALL)

    for command, status, answer in calls:
        response = make_call(client, documented.fill_in(command))

        actual = response.json()
        assert actual == documented.resolved(json.loads(answer), actual)
        assert response.status_code == int(status)
    assert len(calls) == len(re.findall(r"```sh\ncurl (?!-o)", text)) == number


@pytest.mark.django_db
def test_the_documented_export_works(client):
    bookmark = BookmarkFactory()
    token = AccessTokenFactory(user_group=bookmark.user_group).secret
    [command] = re.findall(r"```sh\n(curl -o .*?)```", page("api"), re.DOTALL)

    response = make_call(client, command.replace("<ACCESS_TOKEN>", token))

    assert response.status_code == 200
    [record] = read(io.BytesIO(response.getvalue()), "html")
    assert record.url == bookmark.url


@pytest.mark.django_db
def test_the_documented_error_is_correct(create_bookmark):  # noqa: F811
    [shown] = blocks(page("api").partition("## Errors")[2], "json")

    assert create_bookmark({}).json() == json.loads(shown)


def test_the_table_of_errors_lists_all_codes():
    listed = {code for row in rows_under(page("api"), "Errors") for code in re.findall(r"`([a-z]\w+)`", row[2])}
    source = "".join(path.read_text() for app in ("usergroups", "bookmarks") for path in (ROOT / app).rglob("*.py"))

    from_the_apps = {*re.findall(r'default_code = "(\w+)"', source), *re.findall(r'code ?= ?"(\w+)"', source)}
    from_fields_and_rest_framework = {
        "required", "null", "blank", "max_length", "not_an_object", "parse_error", "not_authenticated",
        "authentication_failed", "not_found", "method_not_allowed", "unsupported_media_type", "not_a_list", "min_value",
        "max_value", "invalid_choice", "no_offset", "in_future", "max_string_length", "overflow", "throttled",
        "too_many_errors", "unknown_parameter",
    }  # fmt: skip
    assert listed == from_the_apps | from_fields_and_rest_framework | {"does_not_exist"}


def test_each_status_of_the_openapi_document_is_in_the_table_of_errors():
    listed = {row[0] for row in rows_under(page("api"), "Errors")}

    paths = SchemaGenerator().get_schema(public=True)["paths"].values()
    documented = {status for path in paths for operation in path.values() for status in operation["responses"]}
    assert {status for status in documented if status >= "400"} == listed


def test_the_codes_of_the_openapi_document_are_in_the_table_of_errors():
    listed = {code for row in rows_under(page("api"), "Errors") for code in re.findall(r"`([a-z]\w+)`", row[2])}

    schemas = SchemaGenerator().get_schema(public=True)["components"]["schemas"]
    assert listed == set(schemas["UsergroupsErrorCode"]["enum"])


def test_the_tables_of_calls_match_the_openapi_document():
    text = page("api")
    rows = [
        row for heading in ("User groups", "Access tokens", "Bookmarks", "Files") for row in rows_under(text, heading)
    ]
    listed = {row[0].strip("`"): row[1] for row in rows if " /" in row[0]}

    operations = {
        f"{method.upper()} {path}": operation
        for path, methods in SchemaGenerator().get_schema(public=True)["paths"].items()
        for method, operation in methods.items()
    }
    assert listed.keys() == operations.keys()
    for call, operation in operations.items():
        query = {each["name"] for each in operation.get("parameters", []) if each["in"] == "query"}
        named = set(re.findall(r"`(\w+)`", listed[call]))
        assert query - {"limit", "cursor"} <= named, call


@pytest.mark.parametrize("heading", ["Change the views", "Tokens of your own", "Dashboards", "OpenAPI"])
def test_the_examples_for_a_host_project_are_those_of_a_tested_one(heading):
    section = page("plug-in").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    host = [path.read_text() for path in (ROOT / "tests/host").rglob("*") if path.suffix in (".py", ".html")]
    # Examples that extend a list of a new project are run by the tests of the documented steps.
    examples = [block for block in blocks(section, "(?:python|html)") if "+= [" not in block]

    assert examples
    assert [example for example in examples if not any(contains(file, example) for file in host)] == []


def contains(file, example):
    """Return whether all paragraphs of the example are in the file, whose package has another name."""
    example = re.sub(r"^from (mysite|notes)\b", "from tests.host.notes", example, flags=re.MULTILINE)
    return all(paragraph.strip("\n") in file for paragraph in example.split("\n\n"))


def steps(heading):
    """Return each block of the section that belongs in a file, with the path of the file."""
    section = page("plug-in").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    step = r"`((?:mysite|notes)/[\w/]+\.\w+)`[^`]*:\n\n```(?:python|html)\n(.*?)^```"
    return re.findall(step, section, re.DOTALL | re.MULTILINE)


@pytest.fixture
def run_in_project(tmp_path):
    """Follow the section on the installation in a new project. Return a function that runs Django's commands there."""

    def run(*command):
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{tmp_path}:{ROOT}"}
        if command[0] != "startproject":
            environment["DJANGO_SETTINGS_MODULE"] = "mysite.settings"
        result = subprocess.run(
            [sys.executable, "-m", "django", *command],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr

    run("startproject", "mysite", ".")
    follow(tmp_path, steps("Installation"))
    return run


def follow(folder, files):
    """Add each block to the end of its file."""
    for path, block in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("a") as file:
            file.write("\n" + block)


@pytest.mark.once
def test_the_documented_steps_to_an_openapi_document_work(tmp_path, run_in_project):
    follow(tmp_path, steps("OpenAPI")[:2])

    run_in_project("spectacular", "--validate", "--fail-on-warn", "--file=schema.yaml")

    assert "/links/v1/bookmarks:" in (tmp_path / "schema.yaml").read_text()


@pytest.mark.once
def test_the_documented_steps_to_an_app_that_extends_the_apps_work(tmp_path, run_in_project):
    run_in_project("startapp", "notes")
    follow(tmp_path, [("mysite/settings.py", 'INSTALLED_APPS += ["notes"]\n')])
    for heading in ("Dashboards", "Change the views", "Tokens of your own", "OpenAPI"):
        follow(tmp_path, steps(heading))
    imports = "from .organisations import Organisation\nfrom .report_tokens import ReportToken\n"
    path, urls = steps("OpenAPI")[-1]
    views = re.findall(r"`(from notes\.\w+ import (?:dashboard|ReportView))`", page("plug-in"))
    paths = re.findall(r'`(path\("(?:dashboard/|report)", .*?\))`', page("plug-in"))
    (tmp_path / path).write_text("\n".join([*views, urls, f"urlpatterns += [{', '.join(paths)}]"]))
    follow(tmp_path, [("notes/models.py", imports)])
    command = re.search(r"manage\.py (spectacular --urlconf .*?)\n```", page("plug-in"), re.DOTALL)[1]

    run_in_project("makemigrations", "notes")
    run_in_project("migrate")
    run_in_project("spectacular", "--validate", "--fail-on-warn")
    run_in_project(*shlex.split(command.replace("\\\n", "")), "--validate", "--fail-on-warn")

    assert len(views) == len(paths) == 2
    assert "is_secure:" in (tmp_path / "schema.yaml").read_text()


def test_a_kind_of_token_takes_less_than_20_lines():
    [example] = [block for block in blocks(page("plug-in"), "python") if "(Token)" in block]

    assert len([line for line in example.splitlines() if line]) < 20


def test_all_settings_of_the_service_are_documented():
    settings = (ROOT / "bookmarks_service/settings.py").read_text()

    assert first_names(rows_under(page("deploy"), "Settings")) == set(re.findall(r'env\.\w+\(\s*"(\w+)"', settings))


def test_the_time_limits_for_postgresql_are_documented():
    application = (ROOT / "bookmarks_service/wsgi.py").read_text()

    [(name, value)] = re.findall(r'environ\.setdefault\("(PG\w+)", "(.*)"\)', application)
    assert f"`{name}={value}`" in page("deploy")
    for name, value in LIMITS.items():
        assert f"`{name} = '{value}'`" in page("deploy")
        assert f"ALTER ROLE bookmarks IN DATABASE bookmarks SET {name} = '{value}';\n" in page("scaling")


def test_all_settings_of_the_apps_are_documented_with_their_defaults(settings):
    listed = {
        row[0].strip("`"): ast.literal_eval(row[1].strip("`"))
        for row in rows_under(page("plug-in"), "Settings")
        if row[0].startswith(("`USERGROUPS_", "`BOOKMARKS_"))
    }
    source = "".join(path.read_text() for app in ("usergroups", "bookmarks") for path in (ROOT / app).rglob("conf.py"))

    assert set(re.findall(r'getattr\(\s*settings, "(\w+)"', source)) == listed.keys()
    for name in listed:
        if hasattr(settings, name):
            delattr(settings, name)
    assert listed == {
        "USERGROUPS_MAX_BODY_SIZE": conf.max_body_size(),
        "USERGROUPS_CALL_RATE": conf.call_rate(),
        "USERGROUPS_FAILURE_RATE": conf.failure_rate(),
        "USERGROUPS_TRUSTED_PROXIES": conf.trusted_proxies(),
        "USERGROUPS_PERMISSION_CLASSES": conf.permission_classes(),
        "BOOKMARKS_MAX_IMPORT_SIZE": bookmarks_conf.max_import_size(),
    }


def test_all_system_checks_are_documented():
    listed = {row[0].strip("`") for row in rows_under(page("plug-in"), "Settings") if "." in row[0]}
    source = "".join(path.read_text() for app in ("usergroups", "bookmarks") for path in (ROOT / app).rglob("*.py"))

    assert listed == set(re.findall(r'id="(\w+\.[EW]\d+)"', source))


def startproject_middleware():
    """Return the middleware of a new Django project."""
    template = Path(django.__file__).parent / "conf/project_template/project_name/settings.py-tpl"
    return ast.literal_eval(template.read_text().partition("MIDDLEWARE = ")[2].partition("]")[0] + "]")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_the_documented_urlconf_works(settings, method):
    urlconf = ModuleType("urlconf")
    urlconf.urlpatterns = []
    [source] = [block for block in blocks(page("plug-in"), "python") if "unknown_path" in block]
    exec(compile(source, "plug-in.md", "exec"), vars(urlconf))

    assert reverse("usergroups:user", urlconf) == "/groups/api/user"
    assert reverse("bookmarks:bookmarks", urlconf) == "/links/v1/bookmarks"
    assert resolve("/links/unknown", urlconf).func is vars(urlconf)["unknown_path"]
    settings.ROOT_URLCONF = urlconf
    settings.MIDDLEWARE = startproject_middleware()
    for path in ("/groups", "/groups/", "/groups/api/users/", "/links/unknown/"):
        response = Client(enforce_csrf_checks=True).generic(method, path)
        assert (response.status_code, response["Content-Type"]) == (404, "application/json")
        assert (b"slash" in response.content) is (path == "/groups/api/users/")


def test_all_signals_are_documented_with_their_senders():
    listed = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1])) for row in signal_tables() if len(row) == 3}
    models = {model for app in ("usergroups", "bookmarks") for model in apps.get_app_config(app).get_models()}
    tokens = {model.__name__ for model in models if issubclass(model, Token)}

    assert listed == {
        **{name: {model.__name__ for model in models} for name in ("created", "updated", "deleted")},
        "rotated": {"UserGroup", *tokens},
        "revoked": tokens,
    }
    assert listed.keys() == {name for name, value in vars(signals).items() if isinstance(value, Signal)}


def signal_tables():
    return rows_under(page("plug-in"), "Signals")


@pytest.mark.django_db
def test_all_arguments_of_signals_are_documented():
    listed = {row[0].strip("`") for row in signal_tables() if len(row) == 2}

    with recorded() as sent:
        token = ApiTokenFactory()
        token.rotate(timedelta())
        token.team.save()

    assert listed == {name for _, _, arguments in sent for name in arguments}


@pytest.mark.django_db
def test_the_documented_receiver_works():
    [source] = [block for block in blocks(page("plug-in"), "python") if "@receiver" in block]
    names = {}
    exec(compile(source, "plug-in.md", "exec"), names)
    user_group = UserGroupFactory()
    key = f"bookmarks-{user_group.pk}"
    cache.set(key, 0)

    with recorded():
        BookmarkFactory(user_group=user_group)

    assert cache.get(key) is None
    disconnected = [each.disconnect(names["forget_count"], Bookmark) for each in (signals.created, signals.deleted)]
    assert disconnected == [True, True]


@pytest.mark.django_db
def test_the_documented_python_api_works():
    names = {}
    [source] = [block for block in blocks(page("plug-in"), "python") if "issue(" in block]
    exec(compile(source, "plug-in.md", "exec"), names)

    assert names["user_group"].properties == {"plan": "pro"}
    assert (names["bookmark"].title, names["bookmark"].collection) == ("Example", names["collection"])
    assert names["successor"].revoked_at is not None
    assert names["access_token"].read_only


def test_the_documented_server_command_exists():
    assert ".venv/bin/granian bookmarks_service.wsgi:application\n" in page("deploy")


def test_the_reason_for_each_option_of_the_server_is_documented():
    assert first_names(rows_under(page("deploy"), "The server")) == documented_options().keys()


def test_all_fields_of_the_request_log_are_documented(client, capsys):
    client.get("/unknown")

    fields = json.loads(capsys.readouterr().err).keys()
    listed = {name for row in rows_under(page("observability"), "Logs") for name in re.findall(r"`(\w+)`", row[0])}
    assert listed == fields


def test_all_commands_are_documented_with_valid_options():
    shown = {re.match(r"`(\w+)", row[0])[1]: row[0] for row in rows_under(page("admin"), "Commands")}
    both_tokens = re.search(r"The two commands that create tokens also take (.*?)\.", page("admin"))[1]

    assert shown.keys() == {name for name, app in get_commands().items() if app in PACKAGES}
    for name, usage in shown.items():
        command = load_command_class(get_commands()[name], name)
        options = set(command.create_parser("manage.py", name)._option_string_actions)
        named = usage + both_tokens if re.fullmatch(r"create_\w+_token", name) else usage
        assert set(re.findall(r"--[\w-]+", named)) <= options, name


def test_all_file_formats_are_documented():
    command = load_command_class("bookmarks", "import_bookmarks")
    [option] = [each for each in command.create_parser("manage.py", "")._actions if each.dest == "format"]

    assert set(option.choices) == first_names(rows_under(page("files"), "Formats"))


def test_the_names_of_fields_in_files_are_documented():
    fields = {"URL": "url", "title": "title", "collection": "collection", "date": "created_at"}
    rows = rows_under(page("files"), "What is read")

    listed = {fields[name]: [each.casefold() for each in re.findall(r"`(\w+)`", cell)] for name, _, cell in rows}

    in_code = {field: [name.removeprefix("content.") for name in names] for field, names in NAMES.items()}
    in_code["url"].append("content")
    in_code["title"] += ["description", "href"]
    assert listed == in_code


def test_the_table_of_programs_has_the_numbers_of_the_tests():
    rows = rows_under(page("files"), "Programs")
    listed = {
        file.strip("`"): (
            int(links),
            int(imported),
            int(refused.partition(":")[0]),
            set(re.findall("`(.*?)`", "".join(told))),
        )
        for _, file, links, imported, refused, *told in rows
    }

    expected = {
        name: (each.links, each.imported, len(each.refused), each.left_out.keys())
        for name, each in EXPECTED_HTML.items()
    }
    for name, (titles, refusals, left_out, _) in EXPECTED_TABLES.items():
        imported = sum(map(len, titles.values()))
        expected[name] = (imported + len(refusals), imported, len(refusals), left_out.keys())
    assert listed == expected
    assert {name for name, (links, imported, refused, _) in listed.items() if links != imported + refused} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_all_named_commands_exist(document):
    text = document.read_text()

    own = set(re.findall(r"manage\.py ([a-z]\w+)", text))
    in_code_style = {name for name in re.findall(r"`(\w+)[^`]*`", text) if name.startswith(COMMAND_VERBS)}
    assert own | in_code_style <= get_commands().keys()


def anchors_of(text):
    """Return the anchors that GitHub generates for the headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_relative_links_and_pictures_exist(document):
    links = re.findall(r"\]\(([^)\s]+)\)", document.read_text())

    for link in links:
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.is_file(), link
        assert not anchor or anchor in anchors_of(target.read_text()), link


def test_the_readme_links_to_all_pages_and_shows_pictures():
    links = set(re.findall(r"\]\(([^)\s]+)\)", README.read_text()))

    assert {str(path.relative_to(ROOT)) for path in PAGES} <= links
    assert len([link for link in links if link.endswith(".png")]) == 2


@pytest.mark.parametrize("name", ["architecture", "CONTRIBUTING"])
def test_all_named_files_and_tests_exist(name):
    paths = re.findall(r"`((?:\w+/)+(?:[\w.]+\.py)?)(?:::(\w+))?`", page(name))

    assert len(paths) > 5
    for path, function in paths:
        assert (ROOT / path).exists(), path
        assert not function or f"def {function}(" in (ROOT / path).read_text(), f"{path}::{function}"


def test_all_packages_are_in_the_architecture_page():
    text = page("architecture")
    folders = {
        f"{path.parent.relative_to(ROOT)}/"
        for package in PACKAGES
        for path in (ROOT / package).rglob("__init__.py")
        if path.parent.name not in ("migrations", "management")
    }

    assert {folder for folder in folders if f"`{folder}`" not in text} == set()


def test_the_named_constraints_are_those_of_the_models():
    models = [model for app in ("usergroups", "bookmarks") for model in apps.get_app_config(app).get_models()]
    names = {each.name for model in models for each in model._meta.constraints if isinstance(each, UniqueConstraint)}

    assert set(re.findall(r"constraint `(\w+)`", page("architecture"))) == names


def test_continuous_integration_finds_the_test_command():
    [pattern, name] = re.search(r"grep -m 1 '(.*)' (\S+)\)", (ROOT / ".ci/run").read_text()).groups()
    found = [line for line in (ROOT / name).read_text().splitlines() if re.search(pattern, line)]

    assert found[:1] == re.findall(r"## Run the tests\n\n```sh\n(.*)\n```", README.read_text())
