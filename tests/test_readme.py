"""What the README shows is run or compared here."""

import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from django.core.management import get_commands, load_command_class
from django.urls import resolve, reverse

from tests.bookmarks.conftest import access_token, create_bookmark  # noqa: F401
from tests.bookmarks.factories import AccessTokenFactory
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def rows_under(heading):
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [line.split(" | ") for line in section.splitlines() if line.startswith("| `") or re.match(r"\| \d", line)]


@pytest.mark.django_db
def test_the_calls_answer_what_is_shown(client):
    user_group = UserGroupFactory(provided_id="example_1", token="<USER_GROUP_TOKEN>")
    tokens = {
        "<API_TOKEN>": ApiTokenFactory(team=user_group.team).secret,
        "<ACCESS_TOKEN>": AccessTokenFactory(user_group=user_group).secret,
    }
    calls = [block for block in blocks("sh") if block.startswith("curl")]
    answers = [json.loads(block) for block in blocks("json")][: len(calls)]

    for call, shown in zip(calls, answers, strict=True):
        for placeholder, secret in tokens.items():
            call = call.replace(placeholder, secret)  # noqa: PLW2901
        _, _, method, url, _, authorization, _, content_type, _, body = shlex.split(call.replace("\\\n", ""))
        response = client.generic(
            method,
            url.removeprefix("http://127.0.0.1:8000"),
            body,
            content_type.removeprefix("Content-Type: "),
            HTTP_AUTHORIZATION=authorization.removeprefix("Authorization: "),
        )

        answer = response.json()
        answer["user_group"]["team_id"] = 1
        if "bookmark" in answer:
            answer["bookmark"].update(id="<ID>", created_at="<TIME>")
        assert answer == shown
    assert len(calls) == 2


@pytest.mark.django_db
def test_the_error_is_as_shown(create_bookmark):  # noqa: F811
    [shown] = [json.loads(block) for block in blocks("json") if '"success": 0' in block]

    assert create_bookmark({}).json() == shown


def test_the_errors_are_those_in_the_code():
    listed = {code for row in rows_under("Errors") for code in re.findall(r"`(\w+)`", row[2])}
    source = "".join(path.read_text() for app in ("usergroups", "bookmarks") for path in (ROOT / app).rglob("*.py"))

    from_the_apps = {*re.findall(r'default_code = "(\w+)"', source), *re.findall(r'code="(\w+)"', source)}
    from_rest_framework = {
        "required", "null", "blank", "max_length", "not_a_dict", "parse_error", "not_authenticated",
        "authentication_failed", "not_found", "method_not_allowed", "unsupported_media_type", "not_a_list", "min_value",
        "max_string_length", "overflow", "throttled", "too_many_errors",
    }  # fmt: skip
    assert listed == from_the_apps | from_rest_framework | {"does_not_exist"}


def test_the_settings_are_those_that_are_read():
    listed = {re.match(r"\| `(\w+)`", row[0])[1] for row in rows_under("Settings of the service")}
    settings = (ROOT / "bookmarks_service/settings.py").read_text()
    gunicorn = (ROOT / "bookmarks_service/gunicorn.conf.py").read_text()

    read = {*re.findall(r'env\.\w+\(\s*"(\w+)"', settings), *re.findall(r'environ\.get\("(\w+)"', gunicorn)}
    assert listed == {*read, "GUNICORN_CMD_ARGS"}  # which gunicorn reads itself


def test_the_apps_are_mounted_as_shown():
    urlconf = ModuleType("urlconf")
    [source] = [block for block in blocks("python") if "urlpatterns" in block]
    exec(compile(source, "README.md", "exec"), vars(urlconf))

    assert reverse("usergroups:user", urlconf) == "/groups/api/user"
    assert reverse("bookmarks:bookmarks", urlconf) == "/links/v1/bookmarks"
    assert resolve("/links/unknown", urlconf).func is vars(urlconf)["unknown_path"]


def test_the_service_is_served_as_shown():
    assert ".venv/bin/gunicorn -c bookmarks_service/gunicorn.conf.py -b 127.0.0.1:8000\n" in README
    assert (ROOT / "bookmarks_service/gunicorn.conf.py").exists()


def test_the_commands_take_the_options_that_are_shown():
    for row in rows_under("Commands"):
        name = re.match(r"\| `(\w+)", row[0])[1]
        command = load_command_class(get_commands()[name], name)
        options = set(command.create_parser("manage.py", name)._option_string_actions)
        shown = set(re.findall(r"--[\w-]+", row[0]))
        if name.endswith("token"):
            shown |= {"--read-only", "--expires-in", "--name"}
        assert shown <= options
