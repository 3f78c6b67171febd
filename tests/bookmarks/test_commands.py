"""The commands: their options, and the files that they read and write."""

import gzip
import os
import re
import stat
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from bookmarks.files import EXPORT_FORMATS, exporting, importing
from bookmarks.management.commands import export_bookmarks, import_bookmarks
from bookmarks.models import AccessToken, Bookmark
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.servers import TIMEOUT
from tests.usergroups.factories import UserGroupFactory

pytestmark = pytest.mark.django_db

GROUP = ["--team", "Acme", "--user-group", "example_1"]


@pytest.fixture
def user_group():
    return UserGroupFactory(team__name="Acme", provided_id="example_1")


def test_only_the_secret_is_written_to_standard_output(user_group, capsys):
    call_command("create_access_token", *GROUP, "--read-only", "--expires-in", "30", "--name", "CI")

    out, err = capsys.readouterr()
    token = AccessToken.objects.authenticate(out.removesuffix("\n"))
    assert (token.user_group, token.read_only, token.name) == (user_group, True, "CI")
    assert token.expires_at is not None
    assert out.strip() not in err


def test_an_unknown_team_or_user_group_is_an_error():
    with pytest.raises(CommandError, match="There is no team named 'Acme'") as error:
        call_command("create_access_token", *GROUP)
    assert error.value.returncode == 1

    UserGroupFactory(team__name="Acme", environment="Testing", provided_id="example_1")
    with pytest.raises(CommandError, match="has no user group 'example_1' in no environment") as error:
        call_command("create_access_token", *GROUP)
    assert error.value.returncode == 1


# Imports


@pytest.fixture
def import_file(user_group, tmp_path, capsys):
    """Return a function that imports a CSV file into a group with one bookmark, and returns what it prints."""
    BookmarkFactory(user_group=user_group, url="https://old/", title="Old")

    def run(content, *options):
        file = tmp_path / "a.csv"
        file.write_bytes(content)
        call_command("import_bookmarks", str(file), *GROUP, *options)
        return [text.strip() for text in capsys.readouterr()]

    return run


IMPORTS = {
    "refused": (
        b"url,title\nhttps://a/,A\nx,B\nhttps://old/,C\nx,D\n", [],
        ["1 created, 1 already existed, 2 refused.", "lines 3, 5: The URL has no scheme such as https://."],
        {"Old", "A"},
    ),
    "dry run": (
        b"url\nhttps://a/\nhttps://old/\nhttps://a\n", ["--dry-run"],
        ["Dry run, nothing was changed: 1 created, 2 already existed, 0 refused.", ""], {"Old"},
    ),
    "update": (
        b"url,title\nhttps://old/,New\n", ["--update"],
        ["0 created, 1 updated, 0 already existed, 0 refused.", ""], {"New"},
    ),
    "empty": (b"url\n", [], ["0 created, 0 already existed, 0 refused.", "The file contains no bookmarks."], {"Old"}),
    "encoding": (
        "url,title\nhttps://a/,Привет\n".encode("koi8-r"), ["--encoding", "koi"],
        ["1 created, 0 already existed, 0 refused.", ""], {"Old", "Привет"},
    ),
}  # fmt: skip
"""Files with options, what the command prints, and the titles that are stored afterwards."""


@pytest.mark.parametrize(("content", "options", "printed", "titles"), IMPORTS.values(), ids=IMPORTS)
def test_an_import_prints_what_it_did(import_file, content, options, printed, titles):
    assert import_file(content, *options) == printed
    assert set(Bookmark.objects.values_list("title", flat=True)) == titles


@pytest.mark.parametrize(
    ("content", "message", "printed"),
    [
        (
            b"url\nx\n", "All bookmarks were refused.",
            ("0 created, 0 already existed, 1 refused.\n", "line 2: The URL has no scheme such as https://.\n"),
        ),
        (
            gzip.compress(b"url\nhttps://a/\n") + b"garbage",
            "The compressed file is damaged. What was read of it may contain errors. Only what comes before was read: "
            "1 created, 0 already existed, 0 refused.", ("", ""),
        ),
    ],
    ids=["refused", "damaged"],
)  # fmt: skip
def test_an_import_of_an_unusable_file_fails(import_file, capsys, content, message, printed):
    with pytest.raises(CommandError) as error:
        import_file(content)

    assert (str(error.value), error.value.returncode) == (message, 1)
    assert tuple(capsys.readouterr()) == printed


def test_an_unknown_encoding_is_an_error(import_file):
    with pytest.raises(CommandError, match="argument --encoding: klingon is not"):
        import_file(b"url\n", "--encoding", "klingon")


def test_an_interrupted_import_can_be_run_again(user_group, tmp_path, capsys, monkeypatch):
    file = tmp_path / "a.csv"
    file.write_text("url\n" + "".join(f"https://example.com/{n}\n" for n in range(10)))
    monkeypatch.setattr(importing, "ROWS_PER_TRANSACTION", 4)

    def read(*args):
        for record in importing.read(*args):
            if record.line == 10:
                raise KeyboardInterrupt
            yield record

    with monkeypatch.context() as patch:
        patch.setattr(import_bookmarks, "read", read)
        with pytest.raises(CommandError, match=r"Interrupted.* Result so far: 8 created"):
            call_command("import_bookmarks", str(file), *GROUP)
    before = Bookmark.objects.count()
    call_command("import_bookmarks", str(file), *GROUP)

    assert before == 8
    assert capsys.readouterr().out == f"{10 - before} created, {before} already existed, 0 refused.\n"


@pytest.fixture
def feed():
    """Return a function that writes to a pipe in a thread and then closes it."""
    threads = []

    def feed(file, content):
        def write():
            with open(file, "wb") as pipe:
                pipe.write(content)

        threads.append(threading.Thread(target=write, daemon=True))
        threads[-1].start()

    yield feed
    for thread in threads:
        thread.join(timeout=TIMEOUT)


@pytest.mark.usefixtures("user_group")
@pytest.mark.parametrize("path", ["-", "/dev/fd/{}"])
def test_an_open_pipe_is_read(feed, capsys, monkeypatch, path):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with open(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        feed(writing, b"".join(b'{"url": "https://example.com/%d"}\n' % n for n in range(2000)))
        call_command("import_bookmarks", "--format", "jsonl", *GROUP, path.format(reading))

    assert capsys.readouterr().out.startswith("2000 created, 0 ")


@pytest.mark.parametrize("command", ["import_bookmarks", "export_bookmarks"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.txt"], "Specify the file's format with --format: html, jsonl, csv"),
        (["-"], "Specify the file's format with --format"),
        (["missing/a.csv"], "missing/a.csv: No such file or directory."),
        (["a.csv", "--collection", "x"], "The user group has no collection with the id 'x'."),
        (["a.csv", "--user-group", "x"], "has no user group 'x'"),
    ],
)
def test_invalid_arguments_are_errors(user_group, command, arguments, message):
    with pytest.raises(CommandError, match=re.escape(message)):
        call_command(command, *GROUP, *arguments)


# Exports


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_an_export_follows_links(user_group, tmp_path, name):
    BookmarkFactory(user_group=user_group)
    file, link = tmp_path / "a", tmp_path / f"b.{name}"
    link.symlink_to(file)

    call_command("export_bookmarks", str(link), *GROUP)

    assert link.is_symlink()
    with file.open(newline="") as text:
        assert text.read() == "".join(EXPORT_FORMATS[name].write(exporting.load(user_group)))


def test_one_collection_is_exported_to_standard_output(user_group, capfdbinary):
    collection = CollectionFactory(user_group=user_group)
    BookmarkFactory(user_group=user_group)
    inside = BookmarkFactory(user_group=user_group, collection=collection, title="ü")

    call_command("export_bookmarks", "-", *GROUP, "--format", "jsonl", "--collection", str(collection.pk))

    [line] = capfdbinary.readouterr().out.decode().splitlines()
    assert f'"url": "{inside.url}", "title": "ü"' in line


@pytest.mark.parametrize("path", ["/dev/null", "/"])
def test_an_export_replaces_no_device_or_directory(user_group, path):
    with pytest.raises(CommandError, match="is not a regular file"):
        call_command("export_bookmarks", path, *GROUP, "--format", "csv")


@pytest.fixture
def fail_after_a_page(user_group, monkeypatch):
    """Return a function that lets an export raise an exception after some bookmarks."""

    BookmarkFactory.create_batch(9, user_group=user_group)

    def fail(error):
        def load(*args):
            yield from list(exporting.load(*args))[:5]
            raise error

        monkeypatch.setattr(export_bookmarks, "load", load)

    return fail


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OperationalError("the server closed the connection.\nDETAIL"),
            r"^The database failed: the server closed the connection\. The export is not complete\.$",
        ),
        (KeyboardInterrupt(), r"^Interrupted\. The export is not complete\.$"),
        (OSError(28, "No space left on device"), r"\.csv: No space left on device\. The export is not complete\.$"),
    ],
    ids=["database", "interrupt", "disk"],
)
def test_a_failed_export_leaves_the_folder_as_it_was(fail_after_a_page, tmp_path, error, message):
    fail_after_a_page(error)
    old = tmp_path / "a.csv"
    old.write_text("old")

    for name in ("a.csv", "new.csv"):
        with pytest.raises(CommandError, match=message) as raised:
            call_command("export_bookmarks", str(tmp_path / name), *GROUP)
        assert raised.value.returncode == (130 if isinstance(error, KeyboardInterrupt) else 1)
        assert "\n" not in str(raised.value)

    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "old"


@pytest.mark.parametrize("old_mode", [None, 0o600, 0o664])
def test_the_mode_follows_the_umask_or_the_existing_file(user_group, tmp_path, old_mode):
    file = tmp_path / "a.csv"
    if old_mode is not None:
        file.touch()
        file.chmod(old_mode)
    umask = os.umask(0o027)
    try:
        call_command("export_bookmarks", str(file), *GROUP)
    finally:
        os.umask(umask)

    assert stat.S_IMODE(file.stat().st_mode) == (0o640 if old_mode is None else old_mode)
