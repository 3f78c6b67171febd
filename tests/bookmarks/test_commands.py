"""The commands import_bookmarks and export_bookmarks: their options, and the
files that they read and write.
"""

import os
import re
from itertools import islice

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from bookmarks import exports, imports
from bookmarks.files import EXPORT_FORMATS, read
from bookmarks.management.commands import export_bookmarks, import_bookmarks
from bookmarks.models import Bookmark
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.usergroups.factories import TeamFactory, UserGroupFactory

pytestmark = pytest.mark.django_db

GROUP = ["--team", "Acme", "--user-group", "example_1"]
"""The options that name ``user_group``."""


@pytest.fixture(autouse=True)
def user_group():
    return UserGroupFactory(team__name="Acme", provided_id="example_1")


# Imports


@pytest.fixture
def import_file(user_group, tmp_path, capsys):
    """Return a function that imports a CSV file into a group with one
    bookmark, and returns stdout and stderr.
    """
    BookmarkFactory(user_group=user_group, url="https://old/", title="Old")

    def run(content, *options):
        file = tmp_path / "a.csv"
        file.write_bytes(content)
        call_command("import_bookmarks", str(file), *GROUP, *options)
        return [text.strip() for text in capsys.readouterr()]

    return run


@pytest.mark.parametrize(("team", "environment"), [("Acme", "Testing"), ("Other", "")])
def test_the_group_is_that_of_the_team_and_environment(
    user_group, tmp_path, team, environment
):
    owner = user_group.team if team == "Acme" else TeamFactory(name=team)
    twin = UserGroupFactory(
        team=owner, environment=environment, provided_id=user_group.provided_id
    )
    file = tmp_path / "a.csv"
    file.write_text("url\nhttps://a/\n")
    options = ["--team", team, "--user-group", twin.provided_id]
    if environment:
        options += ["--environment", environment]

    call_command("import_bookmarks", str(file), *options)

    assert Bookmark.objects.get().user_group == twin


IMPORTS = {
    "refused": (
        b"url,title\nhttps://a/,A\nx,B\nhttps://old/,C\nx,D\n",
        [],
        [
            "1 created, 0 updated, 1 already existed, 2 refused, 0 new collections.",
            "line 3: The URL has no scheme such as https://. B x\n"
            "line 5: The URL has no scheme such as https://. D x",
        ],
        {"Old", "A"},
    ),
    "dry run": (
        b"url\nhttps://a/\nhttps://old/\nhttps://a\n",
        ["--dry-run"],
        [
            "Dry run, nothing was changed: 1 created, 0 updated, 2 already existed, "
            "0 refused, 0 new collections.",
            "",
        ],
        {"Old"},
    ),
    "update": (
        b"url,title\nhttps://old/,New\n",
        ["--update"],
        ["0 created, 1 updated, 0 already existed, 0 refused, 0 new collections.", ""],
        {"New"},
    ),
    "encoding": (
        # a label of the WHATWG for KOI8-R
        "url,title\nhttps://a/,Привет\n".encode("koi8-r"),
        ["--encoding", "koi"],
        ["1 created, 0 updated, 0 already existed, 0 refused, 0 new collections.", ""],
        {"Old", "Привет"},
    ),
}
"""A file's content, options, what the command prints to stdout and stderr, and
the titles that are stored then.
"""


@pytest.mark.parametrize(
    ("content", "options", "printed", "titles"), IMPORTS.values(), ids=IMPORTS
)
def test_an_import_prints_what_it_did(import_file, content, options, printed, titles):
    assert import_file(content, *options) == printed
    assert set(Bookmark.objects.values_list("title", flat=True)) == titles


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"url\nx\n", "All bookmarks were refused."),
        (
            b"url\n",
            "No bookmarks found. The file looks like CSV. Export the bookmarks as HTML "
            "in the program, and import that file.",
        ),
        (
            b"\x1f\x8b" + b"x" * 100,
            "No bookmarks found. The file looks like a compressed file or an archive. "
            "Unpack it, and import the file with the bookmarks.",
        ),
    ],
    ids=["refused", "empty", "binary"],
)
def test_an_import_of_an_unusable_file_fails(import_file, content, message):
    with pytest.raises(CommandError, match=f"^{re.escape(message)}$") as error:
        import_file(content)
    assert error.value.returncode == 1


def test_an_interrupted_import_can_be_run_again(import_file, monkeypatch):
    """The interrupt comes after nine rows, of which two transactions have
    stored four each.
    """
    content = b"url\n" + b"".join(b"https://example.com/%d\n" % n for n in range(10))
    monkeypatch.setattr(imports, "ROWS_PER_TRANSACTION", 4)

    def interrupted(*args, **options):
        yield from islice(read(*args, **options), 9)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(import_bookmarks, "read", interrupted)
        with pytest.raises(
            CommandError, match=r"Interrupted.* Result so far: 8 created"
        ):
            import_file(content)
    assert import_file(content)[0].startswith("2 created, 0 updated, 8 already ")


@pytest.mark.parametrize("path", ["-", "/dev/fd/{}"])
def test_a_pipe_is_read(capsys, monkeypatch, path):
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:
        pipe.write(b'{"url": "https://example.com/"}\n')
    with open(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        call_command("import_bookmarks", *GROUP, path.format(reading))

    assert capsys.readouterr().out.startswith("1 created, 0 ")


def test_a_damaged_file_is_imported_up_to_the_damage(user_group, tmp_path, capsys):
    file = tmp_path / "a.json"
    file.write_text('[{"url": "https://a/"}, {"url": "https://b/"}, x]')

    with pytest.raises(CommandError, match="cannot be read after 2 bookmarks"):
        call_command("import_bookmarks", str(file), *GROUP)

    assert capsys.readouterr().out.startswith("2 created, ")


@pytest.mark.parametrize("path", ["/dev/null", "-", "a.json"])
def test_an_export_needs_a_format(path):
    message = r"Specify the file's format with --format: html, jsonl, csv\."

    with pytest.raises(CommandError, match=message):
        call_command("export_bookmarks", path, *GROUP)


@pytest.mark.parametrize("command", ["import_bookmarks", "export_bookmarks"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing/a.csv"], "No such file or directory: 'missing/a.csv'."),
        (["/", "--format", "csv"], "Is a directory: '/'."),
        (
            ["a.csv", "--collection", "x"],
            "The user group has no collection with the id 'x'.",
        ),
        (
            ["a.csv", "--user-group", "x"],
            "There is no user group 'x' of a team 'Acme' in no environment.",
        ),
        (
            ["a.csv", "--user-group", "\udcff"],
            "argument --user-group: invalid utf8 value",
        ),
    ],
)
def test_invalid_arguments_are_errors(command, arguments, message):
    with pytest.raises(CommandError, match=re.escape(message)):
        call_command(command, *GROUP, *arguments)


# Exports


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_an_export_replaces_the_content_of_the_file(user_group, tmp_path, name):
    BookmarkFactory(user_group=user_group)
    file = tmp_path / f"a.{name}"
    file.write_text("old" * 1000)

    call_command("export_bookmarks", str(file), *GROUP)

    with file.open(newline="") as text:
        expected = b"".join(exports.write(exports.load(user_group), name))
        assert text.read() == expected.decode()


def test_the_commands_have_no_time_limit(user_group, tmp_path, settings):
    settings.USERGROUPS_CALL_TIME_LIMIT = 0
    BookmarkFactory(user_group=user_group)
    file = tmp_path / "a.jsonl"

    call_command("export_bookmarks", str(file), *GROUP)
    Bookmark.objects.all().delete()
    call_command("import_bookmarks", str(file), *GROUP)

    assert Bookmark.objects.count() == 1


def test_an_export_writes_to_a_pipe(user_group):
    reading, writing = os.pipe()

    call_command("export_bookmarks", f"/dev/fd/{writing}", "--format", "csv", *GROUP)

    os.close(writing)
    with open(reading) as pipe:
        assert pipe.read().startswith("url,")


def test_one_collection_is_exported_to_standard_output(user_group, capfdbinary):
    collection = CollectionFactory(user_group=user_group)
    BookmarkFactory(user_group=user_group)
    inside = BookmarkFactory(user_group=user_group, collection=collection, title="ü")

    call_command(
        "export_bookmarks",
        "-",
        *GROUP,
        "--format",
        "jsonl",
        "--collection",
        str(collection.pk),
    )

    [line] = capfdbinary.readouterr().out.decode().splitlines()
    assert f'"url": "{inside.url}", "title": "ü"' in line


@pytest.mark.parametrize(
    ("error", "message", "status"),
    [
        (
            OperationalError("connection lost.\nDETAIL: A secret."),
            "The database failed: connection lost.",
            1,
        ),
        (KeyboardInterrupt(), "Interrupted.", 130),  # 128 + SIGINT, as in a shell
        (
            OSError(28, "No space left on device"),
            "[Errno 28] No space left on device.",
            1,
        ),
    ],
    ids=["database", "interrupt", "disk"],
)
def test_a_failed_export_says_so_in_one_line(
    monkeypatch, tmp_path, error, message, status
):
    def load(*args):
        raise error
        yield  # makes this function a generator, as load() is

    monkeypatch.setattr(export_bookmarks, "load", load)
    with pytest.raises(CommandError) as raised:
        call_command("export_bookmarks", str(tmp_path / "a.csv"), *GROUP)

    assert (str(raised.value), raised.value.returncode) == (
        f"{message} The export is not complete.",
        status,
    )


@pytest.mark.parametrize(
    "files", [{}, {"a.csv": "old"}], ids=["no file", "an older file"]
)
def test_a_failed_export_leaves_the_folder_as_it_was(
    monkeypatch, tmp_path, user_group, files
):
    for name, content in files.items():
        (tmp_path / name).write_text(content)

    def load(*args):
        yield BookmarkFactory(user_group=user_group)
        raise KeyboardInterrupt

    monkeypatch.setattr(export_bookmarks, "load", load)
    with pytest.raises(CommandError, match="Interrupted"):
        call_command("export_bookmarks", str(tmp_path / "a.csv"), *GROUP)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files
