"""Imports during which collections and user groups are deleted."""

import pytest
from django.core.management import call_command

from bookmarks.files.records import Record
from tests.bookmarks.imports import (  # noqa: F401
    CSV,
    act_after_first_chunk,
    chunks_of_two,
    collection_names,
    delete_collections,
    imported,
)
from tests.queries import on_another_connection
from tests.usergroups.factories import UserGroupFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user_group():
    return UserGroupFactory(team__name="Acme", provided_id="example_1")


@pytest.fixture
def after_first_chunk(monkeypatch, chunks_of_two):  # noqa: F811
    return act_after_first_chunk(monkeypatch)


@pytest.fixture
def run_command(tmp_path):
    def run(*options):
        (tmp_path / "file.csv").write_bytes(CSV)
        call_command(
            "import_bookmarks", str(tmp_path / "file.csv"), "--team", "Acme", "--user-group", "example_1", *options
        )

    return run


def test_the_command_recreates_a_deleted_collection(user_group, after_first_chunk, run_command, capsys):
    after_first_chunk(delete_collections)

    run_command()

    assert capsys.readouterr().out == "6 created, 0 already existed, 0 refused.\n"
    assert collection_names() == [None] * 2 + ["Folder"] * 4


@pytest.mark.usefixtures("chunks_of_two")
def test_a_collection_that_is_deleted_while_a_chunk_is_read_is_recreated(user_group):
    def records():
        for n in range(6):
            if n == 3:
                on_another_connection(delete_collections)
            yield Record(n, f"https://example.com/{n}", "", "Folder")

    assert imported(user_group, records()).created == 6
    assert collection_names()[-4:] == ["Folder"] * 4
