"""The examples in the documents work, and their tables say what the code has."""

import ast
import json
import re
import sys
from itertools import combinations

import pytest
from django.core.management import get_commands

from bookmarks import access_token_urls
from bookmarks import urls as bookmarks_urls
from bookmarks.admin.exports import MAX_EXPORTED
from bookmarks.conf import max_import_size
from bookmarks.files import read
from bookmarks.querysets.bookmarks import MAX_FOUND
from bookmarks_service import form_sizes
from bookmarks_service.postgresql_connections import SET_LIMITS
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.documents import ROOT, blocks, names, page, rows, section
from tests.servers import run_program
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups import urls as usergroups_urls
from usergroups.admin_tools.confirmations import ConfirmationForm
from usergroups.admin_tools.paginator import MAX_LISTED
from usergroups.api import (
    batches,
    conf,
    errors,
    pagination,
    preconditions,
    requests,
    strict_json,
    throttling,
)
from usergroups.api.throttling import MAX_WAIT
from usergroups.db import bounded_reads, storable_text
from usergroups.db.cascades import MAX_DEPENDANTS
from usergroups.tokens.models import MAX_ACTIVE_TOKENS, MAX_ROTATIONS

README = ROOT / "README.md"
PAGES = [ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
# The sections of the decisions are questions.
WITHOUT_QUESTIONS = [ROOT / "CHANGELOG.md", ROOT / "docs/decisions.md"]

pytestmark = pytest.mark.database_independent


# The calls, with their answers


def run_curl(command, live_server, folder):
    """Run a document's curl command in ``folder``.

    Return what it prints and the status of the response.
    """
    command = command.replace("http://127.0.0.1:8000", live_server.url)
    with_status = command.replace("curl ", r"curl -s -w '\n%{http_code}' ", 1)
    result = run_program("bash", "-ec", with_status, cwd=folder)
    result.check_returncode()
    output, _, status = result.stdout.rpartition("\n")
    return output, status


def filled_in(shown, actual, values):
    """Return what a document shows with its placeholders replaced by
    ``values``.

    A new placeholder takes its value from ``actual`` and keeps it in the rest
    of the document, except ``<TIME>``.
    """
    if isinstance(shown, dict):
        return {
            key: filled_in(value, actual.get(key), values)
            for key, value in shown.items()
        }
    if isinstance(shown, list):
        return [
            filled_in(item, actual_item, values)
            for item, actual_item in zip(shown, actual, strict=True)
        ]
    if shown == "<TIME>":
        return actual
    if isinstance(shown, str) and re.fullmatch("<[A-Z_]+>", shown):
        return values.setdefault(shown, actual)
    return shown


@pytest.mark.parametrize(
    "document", [README, ROOT / "docs/api.md"], ids=lambda path: path.name
)
def test_the_documented_calls_have_the_documented_answers(live_server, document):
    user_group = UserGroupFactory(team__id=1, provided_id="example_1", name="Example 1")
    BookmarkFactory(
        user_group=user_group, url="https://example.com/reports", title="Reports"
    )
    values = {
        "<API_TOKEN>": ApiTokenFactory(team=user_group.team).secret,
        "<ACCESS_TOKEN>": AccessTokenFactory(user_group=user_group).secret,
    }
    text = document.read_text()
    example = (
        r"```sh\n(curl (?!-o).*?)```.*?The response has the status "
        r"(\d+):\n\n```json\n(.*?)```"
    )
    calls = re.findall(example, text, re.DOTALL)

    # The next test runs the call with -o.
    assert len(calls) == len(re.findall(r"```sh\ncurl (?!-o)", text))
    for command, documented_status, shown in calls:
        filled = re.sub("<[A-Z_]+>", lambda match: values[match[0]], command)
        output, status = run_curl(filled, live_server, ROOT)

        answer = json.loads(output)
        assert answer == filled_in(json.loads(shown), answer, values)
        assert status == documented_status


def test_the_documented_export_can_be_read(live_server, tmp_path):
    bookmark = BookmarkFactory()
    token = AccessTokenFactory(user_group=bookmark.user_group).secret
    commands = blocks(page("api"), "sh")
    [command] = [each for each in commands if each.startswith("curl -o")]

    run_curl(command.replace("<ACCESS_TOKEN>", token), live_server, tmp_path)

    with (tmp_path / "bookmarks.html").open("rb") as file:
        [record] = read(file, "html")
    assert record.url == bookmark.url


@pytest.mark.django_db
def test_the_documented_error_is_the_answer_to_an_empty_object(client):
    [shown] = blocks(section("api", "Errors"), "json")
    headers = {"Authorization": f"Bearer {AccessTokenFactory().secret}"}

    response = client.post("/v1/bookmarks", "{}", "application/json", headers=headers)

    assert response.json() == json.loads(shown)


# The code for host projects


def without_spaces(code):
    return "".join(code.split())


def test_the_example_of_calls_is_tested_code():
    tested = without_spaces((ROOT / "tests/test_python_api.py").read_text())
    example, *_ = blocks(section("plug-in", "Python API"), "python")

    for paragraph in example.split("\n\n"):
        assert without_spaces(paragraph) in tested


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("plug-in", "Mount the URLs"),
        ("plug-in", "Signals"),
        ("plug-in", "Test your project"),
        ("customize", "Change the views"),
        ("customize", "Views of your own"),
        ("customize", "Tokens of your own"),
        ("customize", "Dashboards"),
    ],
)
def test_the_examples_for_a_host_project_are_code_of_the_tested_host(name, heading):
    code_of_the_host = source_of("tests/host/notes").replace("tests.host.", "")
    examples = blocks(section(name, heading), "python")

    assert examples
    for paragraph in "\n".join(examples).split("\n\n"):
        assert paragraph.strip("\n") in code_of_the_host


def test_the_readme_adds_the_apps_as_the_installation_does():
    installation = section("plug-in", "Installation").splitlines()
    shown = README.read_text().partition("## Add the apps to a project\n")[2]
    examples = [*blocks(shown, "python"), *blocks(shown, "sh")[:1]]

    lines = "\n".join(examples).splitlines()
    assert "migrate" in examples[-1]
    assert set(lines) - set(installation) == {"from django.urls import include, path"}


# The tables


def source_of(*folders, name="*.py"):
    return "".join(
        path.read_text() for folder in folders for path in (ROOT / folder).rglob(name)
    )


def test_all_settings_of_the_service_are_documented():
    settings = (ROOT / "bookmarks_service/settings.py").read_text()
    example = (ROOT / "docs/examples/bookmarks_service.env").read_text()

    documented = names(section("settings", "Variables"))
    assert documented >= set(re.findall(r'env\.\w+\(\s*"(\w+)"', settings))
    # Variables that begin with GRANIAN_ are those of the server.
    assert documented >= set(
        re.findall(r"^((?!GRANIAN_)[A-Z]\w+)=", example, re.MULTILINE)
    )


def test_the_example_settings_pass_the_checks_for_deployment():
    # "set -a" exports the variables of the file to the command.
    script = (
        "set -a; . docs/examples/bookmarks_service.env; SECRET_KEY=$KEY; exec $CHECK"
    )
    check = f"{sys.executable} manage.py check --deploy --fail-level WARNING"
    variables = {"KEY": "0123456789" * 5, "CHECK": check}
    run_program("sh", "-ec", script, env=variables, cwd=ROOT).check_returncode()


def test_all_settings_and_system_checks_of_the_apps_are_documented():
    apps = ("usergroups", "bookmarks")
    source = source_of(*apps)
    settings = set(re.findall(r'"((?:USERGROUPS|BOOKMARKS)_[A-Z_]+)"', source))
    checks = set(re.findall(r'"(\w+\.[EW]\d{3})"', source))

    assert names(section("plug-in", "Settings")) == settings | checks


def test_the_table_of_views_has_those_of_the_urls():
    documented = {
        name: view
        for row in rows(section("customize", "Change the views"))
        for name, view in zip(
            re.findall(r"`(\w+:[\w-]+)`", row[0]),
            re.findall(r"`(\w+View)`", row[1]),
            strict=False,
        )
    }

    assert documented == {
        f"{urls.app_name}:{pattern.name}": pattern.callback.view_class.__name__
        for urls in (usergroups_urls, access_token_urls, bookmarks_urls)
        for pattern in urls.urlpatterns
    }


DEFAULTS = {
    "USERGROUPS_MAX_BODY_SIZE": conf.max_body_size,
    "USERGROUPS_CALL_TIME_LIMIT": conf.call_time_limit,
    "USERGROUPS_DELETION_RETENTION_DAYS": conf.deletion_retention_days,
    "USERGROUPS_CALL_RATE": conf.call_rate,
    "USERGROUPS_FAILURE_RATE": conf.failure_rate,
    "USERGROUPS_TRUSTED_PROXIES": conf.trusted_proxies,
    "BOOKMARKS_MAX_IMPORT_SIZE": max_import_size,
}


@pytest.fixture
def defaults(settings):
    """The values of the settings of the apps in a project that sets none."""
    for name in DEFAULTS:
        delattr(settings, name)
    return {name: read_setting() for name, read_setting in DEFAULTS.items()}


def test_the_documented_defaults_of_the_apps_are_those_of_the_code(defaults):
    documented = {
        row[0].strip("`"): ast.literal_eval(row[1].strip("`"))
        for row in rows(section("plug-in", "Settings"))
        if row[0].strip("`") in DEFAULTS
    }

    assert documented == defaults


def in_mib(size):
    return f"{size / conf.MIB:g} MiB"


def a_minute(rate):
    """Return a rate in words: "60000/min" is "60,000 a minute"."""
    number, _, period = rate.partition("/")
    assert period == "min"
    return f"{int(number):,} a minute"


def in_nginx(zone):
    """Return the number of requests in progress that nginx allows."""
    configurations = "".join(
        path.read_text() for path in (ROOT / "docs/examples").glob("*.conf")
    )
    [number] = re.findall(rf"limit_conn {zone} (\d+);", configurations)
    return number


def test_the_documented_limits_are_those_of_the_code(settings, defaults):
    documented = dict(rows(section("SECURITY", "Limits"))[2:])
    pages = pagination.KeysetPagination
    searched = f"{pagination.MAX_SCANNED:,} objects"
    costly = throttling.COSTLY_CALLS
    locked_out = settings.AXES_COOLOFF_TIME.total_seconds() / 60
    batch = "`POST /api/users/batch`, `POST /v1/bookmarks/batch` and a lookup"

    assert documented == {
        "body of a call": (
            f"{in_mib(defaults['USERGROUPS_MAX_BODY_SIZE'])}: "
            "`USERGROUPS_MAX_BODY_SIZE`"
        ),
        f"body of {batch}": (
            f"{in_mib(conf.max_batch_size())}, or that of a call if it is larger"
        ),
        "file to import": (
            f"{in_mib(defaults['BOOKMARKS_MAX_IMPORT_SIZE'])}: "
            "`BOOKMARKS_MAX_IMPORT_SIZE`"
        ),
        "levels of JSON": f"{storable_text.MAX_DEPTH}",
        "commas and opening brackets of JSON, outside strings": (
            f"{strict_json.MAX_VALUES:,}"
        ),
        "parameters of a query": f"{requests.MAX_QUERY_PARAMETERS}",
        "ETags in `If-Match`": f"{preconditions.MAX_ETAGS}",
        "items of a batch or a lookup": f"{batches.MAX_ITEMS:,}",
        "text, `mapping` and `properties` in the response to a batch": in_mib(
            bounded_reads.MAX_RESULTS_SIZE
        ),
        "ids that a lookup finds": f"{MAX_FOUND:,}",
        "objects of a page": f"{pages.max_limit}, by default {pages.default_limit}",
        "text, `mapping` and `properties` of a page": in_mib(conf.MAX_PAGE_SIZE),
        "what a search reads for a page": (
            f"{searched}, or {pagination.MAX_SCANNED_SIZE:,} bytes"
        ),
        "errors in a response": f"{errors.MAX_PROBLEMS}",
        "errors in a result of a batch": f"{batches.MAX_PROBLEMS}",
        "rows that a call deletes with an object": f"{MAX_DEPENDANTS:,}",
        "time of a call": (
            f"{defaults['USERGROUPS_CALL_TIME_LIMIT']} seconds: "
            "`USERGROUPS_CALL_TIME_LIMIT`"
        ),
        "calls of a token": (
            f"{a_minute(defaults['USERGROUPS_CALL_RATE'])}: `USERGROUPS_CALL_RATE`"
        ),
        "failed authentications of an address": (
            f"{a_minute(defaults['USERGROUPS_FAILURE_RATE'])}: "
            "`USERGROUPS_FAILURE_RATE`"
        ),
        "calls of an owner at work in a process": f"{throttling.ANY_CALLS.per_owner}",
        "calls of an owner that wait in a process": (
            f"{throttling.MAX_WAITING}, for up to {MAX_WAIT} seconds"
        ),
        "[costly calls](api.md#rate-limits) at work in a process": (
            f"{costly.per_owner} of a team, and {costly.in_total} of all"
        ),
        "active tokens of an owner": f"{MAX_ACTIVE_TOKENS:,}",
        "rotations of a token and its successors": f"{MAX_ROTATIONS} an hour",
        "age of a listed deletion": (
            f"{defaults['USERGROUPS_DELETION_RETENTION_DAYS']} days: "
            "`USERGROUPS_DELETION_RETENTION_DAYS`"
        ),
        "requests of an address in progress, behind nginx": (
            f"{in_nginx('bookmarks_service_address')}, "
            f"and {in_nginx('bookmarks_service_admin')} in the admin"
        ),
        "failed logins of an address": (
            f"{settings.AXES_FAILURE_LIMIT}, then none for {locked_out:g} minutes"
        ),
        "form of the admin": (
            f"{form_sizes.MAX_ANONYMOUS_FORM // form_sizes.KIB} KiB before the login, "
            f"{in_mib(form_sizes.MAX_FORM)}, "
            f"or {in_mib(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)} with JSON"
        ),
        "rows of a list of the admin, and of its CSV": f"{MAX_LISTED:,}",
        "rows of an action of the admin": f"{ConfirmationForm.max_rows}",
        "bookmarks of an export in the admin": f"{MAX_EXPORTED:,}",
    }


def test_the_documented_time_limits_are_those_of_the_service():
    # such as ('lock_timeout', '10s')
    limits = re.findall(r"\('(\w+)', '(\w+)'\)", SET_LIMITS)
    assert len(limits) == 2  # for a lock and for a statement
    for name, value in limits:
        assert f"`{name} = '{value}'`" in page("settings")
        assert f'"{name}={value}"' in (ROOT / "compose.yaml").read_text()
        assert (
            f"ALTER ROLE bookmarks IN DATABASE bookmarks SET {name} = '{value}';\n"
            in page("scaling")
        )


def test_all_fields_of_the_request_log_are_documented(client, capsys):
    client.get("/unknown")

    fields = json.loads(capsys.readouterr().err).keys()
    assert {
        name
        for row in rows(section("observability", "Logs"))
        for name in re.findall(r"`(\w+)`", row[0])
    } == fields


def test_all_commands_are_documented():
    apps = ("usergroups", "bookmarks", "bookmarks.citus", "bookmarks_service")
    own = {name for name, app in get_commands().items() if app in apps}

    assert names(section("admin", "Commands")) == own


DAILY = [
    ROOT / "docs/examples/bookmarks_service-daily.service",
    ROOT / "docs/examples/containers_daily.sh",
]


@pytest.mark.parametrize(
    "document", [README, *PAGES, *DAILY], ids=lambda path: path.name
)
def test_all_named_commands_exist(document):
    programs = r"(?:manage\.py|bookmarks_service-manage)"
    named = set(re.findall(rf"{programs} ([a-z]\w+)", document.read_text()))

    assert named <= get_commands().keys()


def test_each_page_can_be_read_in_one_go():
    words = {path.name: len(path.read_text().split()) for path in [README, *PAGES]}

    assert {name: number for name, number in words.items() if number > 3000} == {}


@pytest.mark.parametrize(
    "document", sorted({*PAGES} - {*WITHOUT_QUESTIONS}), ids=lambda path: path.name
)
def test_each_page_begins_with_its_questions(document):
    beginning, *_ = document.read_text().partition("\n## ")
    questions = re.split(r"\n- ", beginning)[1:]

    assert questions
    for question in questions:
        assert "?" in question
        assert "](#" in question


def shared_words(first, second):
    """Return the runs of eight words in a sentence that two texts share."""
    return runs_of_words(first) & runs_of_words(second)


def runs_of_words(text):
    prose = re.sub("```.*?```", "", text, flags=re.DOTALL)
    prose = re.sub(r"\]\([^)]*\)", "", prose)  # the targets of links
    # A paragraph, an item of a list, or a cell of a table has whole sentences.
    sentences = re.split(r"(?<=[.:?!])\s|\n\n|\n(?=- |\d\. )|\|", prose)
    found = set()
    for sentence in sentences:
        words = re.findall(r"[\w'-]+", sentence.lower())
        found |= {" ".join(words[start : start + 8]) for start in range(len(words) - 7)}
    return found


def test_no_two_pages_share_eight_words_of_a_sentence():
    texts = {path.name: path.read_text() for path in [README, *PAGES]}

    shared = {
        (first, second): shared_words(texts[first], texts[second])
        for first, second in combinations(texts, 2)
    }

    assert {pages: words for pages, words in shared.items() if words} == {}


def test_each_decision_names_the_test_that_holds_it():
    decisions = re.findall(r"^\*\*.*?(?=\n\n|\Z)", page("decisions"), re.M | re.S)

    assert decisions
    for decision in decisions:
        assert re.search(r"\n`tests/[\w/]+\.py::test_\w+`\s*$", decision), decision


@pytest.mark.parametrize("name", ["architecture", "CONTRIBUTING", "decisions"])
def test_all_named_files_and_tests_exist(name):
    for path, function in re.findall(
        r"`((?:\w+/)+(?:[\w.]+\.py)?)(?:::(\w+))?`", page(name)
    ):
        assert (ROOT / path).exists(), path
        if function:
            assert f"def {function}(" in (ROOT / path).read_text(), function


# The links


def anchors_of(text):
    """Return the anchors that GitHub generates for the headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


@pytest.mark.parametrize("document", [README, *PAGES], ids=lambda path: path.name)
def test_relative_links_and_pictures_exist(document):
    for link in re.findall(r"\]\((?!https:)([^)\s]+)\)", document.read_text()):
        name, _, anchor = link.partition("#")
        target = document
        if name:
            target = (document.parent / name).resolve()
        assert target.is_file(), link
        if anchor:
            assert anchor in anchors_of(target.read_text()), link


def test_the_readme_links_to_all_pages():
    links = set(re.findall(r"\]\(([^)\s#]+)", README.read_text()))

    assert {str(path.relative_to(ROOT)) for path in PAGES} <= links
