import re

import pytest
from django.core.management import CommandError, call_command

from bookmarks.files import EXPORT_FORMATS, importing
from bookmarks.management.commands import import_bookmarks
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
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


# Files


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def test_an_import_reports_refused_lines(user_group, tmp_path, capsys):
    file = write(tmp_path / "a.jsonl", '{"url": "https://a/"}', '{"url": "x"}', '{"url": "https://b/"}', "{")

    for expected in ("2 created, 0 already existed, 2 refused.\n", "0 created, 2 already existed, 2 refused.\n"):
        call_command("import_bookmarks", file, *GROUP)

        out, err = capsys.readouterr()
        assert out == expected
        assert err.splitlines()[0] == "line 2: The URL has no scheme such as https://."
        assert err.splitlines()[1].startswith("line 4: The text is not valid JSON: ")
    assert set(Bookmark.objects.values_list("url", flat=True)) == {"https://a/", "https://b/"}


def test_a_dry_run_reports_the_same_and_changes_nothing(user_group, tmp_path, capsys):
    BookmarkFactory(user_group=user_group, url="https://b/")
    file = write(tmp_path / "a.html", *(f'<A HREF="https://{letter}/">{letter}</A>' for letter in "abca"))

    call_command("import_bookmarks", file, *GROUP, "--dry-run")

    assert capsys.readouterr().out == "Dry run, nothing was changed: 2 created, 2 already existed, 0 refused.\n"
    assert Bookmark.objects.count() == 1


def test_an_interrupted_import_can_be_run_again(user_group, tmp_path, capsys, monkeypatch):
    file = write(tmp_path / "a.csv", "url", *(f"https://example.com/{n}" for n in range(10)))
    monkeypatch.setattr(importing, "ROWS_PER_TRANSACTION", 4)

    def read(*args):
        for record in importing.read(*args):
            if record.line == 10:
                raise KeyboardInterrupt
            yield record

    with monkeypatch.context() as patch:
        patch.setattr(import_bookmarks, "read", read)
        with pytest.raises(CommandError, match=r"Interrupted.* Result so far: 8 created"):
            call_command("import_bookmarks", file, *GROUP)
    before = Bookmark.objects.count()
    call_command("import_bookmarks", file, *GROUP)

    assert before == 8
    assert capsys.readouterr().out == f"{10 - before} created, {before} already existed, 0 refused.\n"


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_an_export_can_be_imported(user_group, tmp_path, name, capsys):
    collection = CollectionFactory(user_group=user_group, name="One")
    BookmarkFactory(user_group=user_group, title="ü")
    BookmarkFactory(user_group=user_group, collection=collection)
    before = set(Bookmark.objects.values_list("url", "title", "collection__name", "created_at"))
    file = str(tmp_path / f"a.{name}")

    call_command("export_bookmarks", file, *GROUP)
    Bookmark.objects.all().delete()
    Collection.objects.all().delete()
    call_command("import_bookmarks", file, *GROUP)

    assert set(Bookmark.objects.values_list("url", "title", "collection__name", "created_at")) == before
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{name}"]


def test_one_collection_is_exported_to_standard_output(user_group, capfdbinary):
    collection = CollectionFactory(user_group=user_group)
    BookmarkFactory(user_group=user_group)
    inside = BookmarkFactory(user_group=user_group, collection=collection, title="ü")

    call_command("export_bookmarks", "-", *GROUP, "--format", "jsonl", "--collection", str(collection.pk))

    [line] = capfdbinary.readouterr().out.decode().splitlines()
    assert f'"url": "{inside.url}", "title": "ü"' in line


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


def test_an_export_follows_links(user_group, tmp_path):
    BookmarkFactory(user_group=user_group)
    file, link = tmp_path / "a.csv", tmp_path / "b.csv"
    link.symlink_to(file)

    call_command("export_bookmarks", str(link), *GROUP)

    assert link.is_symlink()
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize("path", ["/dev/null", "/"])
def test_an_export_replaces_no_device_or_directory(user_group, path):
    with pytest.raises(CommandError, match="is not a regular file"):
        call_command("export_bookmarks", path, *GROUP, "--format", "csv")


def test_a_file_without_bookmarks_is_reported(user_group, tmp_path, capsys):
    call_command("import_bookmarks", write(tmp_path / "a.html", "Nothing here."), *GROUP)

    out, err = capsys.readouterr()
    assert (out, err) == ("0 created, 0 already existed, 0 refused.\n", "The file contains no bookmarks.\n")
