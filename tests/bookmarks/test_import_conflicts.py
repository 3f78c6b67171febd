"""Imports during which collections and user groups are deleted."""

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from bookmarks.files import chunks, importing
from bookmarks.files.records import Record
from bookmarks.management.commands import import_bookmarks
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import CollectionFactory
from tests.bookmarks.imports import CSV, act_after_first_chunk, chunks_of_two, collection_names, delete_collections, way  # noqa: F401
from tests.queries import on_another_connection
from tests.usergroups.factories import UserGroupFactory
from usergroups.models import UserGroup

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user_group():
    return UserGroupFactory(team__name="Acme", provided_id="example_1")


@pytest.fixture
def after_first_chunk(monkeypatch, way, chunks_of_two):  # noqa: F811
    return act_after_first_chunk(monkeypatch, import_bookmarks)


def delete_user_groups():
    UserGroup.objects.all().delete()


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


@pytest.mark.usefixtures("way", "chunks_of_two")
def test_a_collection_that_is_deleted_within_a_chunk_is_recreated(user_group):
    def records():
        for n in range(6):
            if n == 3:
                on_another_connection(delete_collections)
            yield Record(n, f"https://example.com/{n}", "", "Folder")

    outcomes = list(importing.store(user_group, records()))

    assert sum(outcome.created for outcome in outcomes) == 6
    assert collection_names()[-4:] == ["Folder"] * 4


def test_the_command_continues_without_the_given_collection_after_its_deletion(
    user_group, after_first_chunk, run_command, capsys
):
    collection = CollectionFactory(user_group=user_group)
    after_first_chunk(delete_collections)

    run_command("--collection", str(collection.pk))

    out, err = capsys.readouterr()
    assert out == "6 created, 0 already existed, 0 refused.\n"
    assert err == "The collection was deleted during the import. Later bookmarks are in no collection.\n"
    assert collection_names() == [None] * 6


@pytest.mark.usefixtures("way", "chunks_of_two")
def test_an_outcome_reports_the_deletion_of_the_given_collection(user_group):
    collection = CollectionFactory(user_group=user_group)
    reported = []

    for outcome in importing.store(user_group, (Record(n, f"https://example.com/{n}") for n in range(6)), collection):
        reported.append(outcome.collection_deleted)
        on_another_connection(delete_collections)

    assert reported == [False, True, True]


def mark_deleted(model):
    """Do what the deletion of an object with many rows does first."""
    model.objects.update(deleted_at=timezone.now())


@pytest.mark.usefixtures("way", "chunks_of_two")
def test_objects_whose_deletion_takes_a_while_count_as_deleted(user_group):
    collection = CollectionFactory(user_group=user_group)
    records = [Record(n, f"https://example.com/{n}") for n in range(6)]
    stored = importing.store(user_group, records, collection)

    assert not next(stored).collection_deleted
    on_another_connection(lambda: mark_deleted(Collection))
    assert next(stored).collection_deleted
    on_another_connection(lambda: mark_deleted(UserGroup))
    with pytest.raises(chunks.UserGroupDeleted):
        next(stored)

    assert collection_names() == [collection.name] * 2 + [None] * 2


def test_the_command_stops_when_the_user_group_is_deleted(user_group, after_first_chunk, run_command):
    after_first_chunk(delete_user_groups)

    with pytest.raises(
        CommandError, match=r"^The user group and its bookmarks were deleted during the import.* until then: 2 created"
    ):
        run_command()

    assert not Bookmark.objects.exists()


@pytest.mark.usefixtures("way", "chunks_of_two")
def test_deleting_the_user_group_raises_user_group_deleted(user_group):
    stored = importing.store(user_group, iter([Record(n, f"https://example.com/{n}", "", str(n)) for n in range(6)]))
    next(stored)
    on_another_connection(delete_user_groups)

    with pytest.raises(chunks.UserGroupDeleted):
        list(stored)
