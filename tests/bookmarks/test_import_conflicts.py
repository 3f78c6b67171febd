"""Imports while others delete collections and user groups."""

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.urls import reverse

from bookmarks.admin import files as admin_files
from bookmarks.files import importing
from bookmarks.files.records import Record
from bookmarks.management.commands import import_bookmarks
from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import CollectionFactory
from tests.queries import elsewhere
from tests.usergroups.factories import UserGroupFactory
from usergroups.models import Team, UserGroup

pytestmark = pytest.mark.django_db(transaction=True)

CSV = b"url,collection\n" + b"".join(b"https://example.com/%d,Folder\n" % n for n in range(6))


@pytest.fixture(params=["COPY", "INSERT"])
def way(request, monkeypatch):
    """The way in which rows are inserted, on PostgreSQL; SQLite has no COPY and always uses INSERT."""
    if request.param == "INSERT":
        monkeypatch.setattr(importing, "copy_blocks", lambda *args: None)


@pytest.fixture
def user_group():
    return UserGroupFactory(team__name="Acme", provided_id="example_1")


@pytest.fixture
def chunks_of_two(monkeypatch):
    monkeypatch.setattr(importing, "BLOCK_SIZE", 1)
    monkeypatch.setattr(importing, "CHUNK_SIZE", 2)


@pytest.fixture
def after_first_chunk(monkeypatch, way, chunks_of_two):
    """Let the command and the admin import in chunks of two, and do something after the first one."""

    def arrange(action):
        def store(*args):
            for number, outcome in enumerate(importing.store(*args)):
                yield outcome
                if number == 0:
                    elsewhere(action)

        monkeypatch.setattr(import_bookmarks, "store", store)
        monkeypatch.setattr(admin_files, "store", store)

    return arrange


def delete_collections():
    Collection.objects.all().delete()


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


@pytest.fixture
def upload(admin_client, user_group):
    def post():
        page = admin_client.post(
            reverse("admin:bookmarks_bookmark_import"),
            {"user_group": user_group.pk, "file": SimpleUploadedFile("file.csv", CSV)},
        )
        return page.content.decode()

    return post


def places():
    """Return the names of the bookmarks' collections, oldest bookmark first."""
    return list(Bookmark.objects.order_by("url").values_list("collection__name", flat=True))


def test_the_command_creates_a_deleted_folder_again(user_group, after_first_chunk, run_command, capsys):
    after_first_chunk(delete_collections)

    run_command()

    assert capsys.readouterr().out == "6 created, 0 already existed, 0 refused.\n"
    assert places() == [None] * 2 + ["Folder"] * 4


def test_the_admin_creates_a_deleted_folder_again(after_first_chunk, upload):
    after_first_chunk(delete_collections)

    page = upload()

    assert "6 created" in page
    assert "errornote" not in page
    assert places() == [None] * 2 + ["Folder"] * 4
    assert LogEntry.objects.get().change_message == "Imported 6 bookmarks."


@pytest.mark.usefixtures("way", "chunks_of_two")
def test_a_folder_that_is_deleted_in_the_middle_of_a_chunk_is_created_again(user_group):
    def records():
        for n in range(6):
            if n == 3:
                elsewhere(delete_collections)
            yield Record(n, f"https://example.com/{n}", "", "Folder")

    outcomes = list(importing.store(user_group, records()))

    assert sum(outcome.created for outcome in outcomes) == 6
    assert places()[-4:] == ["Folder"] * 4


def test_after_the_deletion_of_the_given_collection_the_command_uses_none(
    user_group, after_first_chunk, run_command, capsys
):
    collection = CollectionFactory(user_group=user_group)
    after_first_chunk(delete_collections)

    run_command("--collection", str(collection.pk))

    out, err = capsys.readouterr()
    assert out == "6 created, 0 already existed, 0 refused.\n"
    assert err == "The collection was deleted during the import. Later bookmarks are in no collection.\n"
    assert places() == [None] * 6


@pytest.mark.usefixtures("way", "chunks_of_two")
def test_an_outcome_tells_whether_the_given_collection_was_deleted(user_group):
    collection = CollectionFactory(user_group=user_group)
    told = []

    for outcome in importing.store(user_group, (Record(n, f"https://example.com/{n}") for n in range(6)), collection):
        told.append(outcome.collection_deleted)
        elsewhere(delete_collections)

    assert told == [False, True, True]


def test_the_command_stops_when_the_user_group_is_deleted(user_group, after_first_chunk, run_command):
    after_first_chunk(delete_user_groups)

    with pytest.raises(
        CommandError, match=r"^The user group and its bookmarks were deleted during the import.* Until then: 2 created"
    ):
        run_command()

    assert not Bookmark.objects.exists()


@pytest.mark.parametrize("model", [UserGroup, Team])
def test_the_admin_stops_when_the_user_group_is_deleted_and_records_what_was_stored(after_first_chunk, upload, model):
    after_first_chunk(lambda: model.objects.all().delete())

    page = upload()

    assert "2 created" in page
    assert "The user group was deleted during the import" in page
    assert LogEntry.objects.get().change_message == "Imported 2 bookmarks."


@pytest.mark.usefixtures("way", "chunks_of_two")
def test_only_the_deletion_of_the_user_group_raises_user_group_deleted(user_group):
    stored = importing.store(user_group, iter([Record(n, f"https://example.com/{n}", "", str(n)) for n in range(6)]))
    next(stored)
    elsewhere(delete_user_groups)

    with pytest.raises(importing.UserGroupDeleted):
        list(stored)


def test_the_admin_records_what_was_stored_before_a_failure(after_first_chunk, upload, admin_client):
    def fail():
        raise OperationalError("The disk is full.")

    after_first_chunk(fail)
    admin_client.raise_request_exception = False

    upload()

    assert Bookmark.objects.count() == 2
    assert LogEntry.objects.get().change_message == "Imported 2 bookmarks."
