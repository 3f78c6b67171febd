"""Methods of managers name the owner of the rows that they read or write."""

from datetime import timedelta
from functools import partial

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from bookmarks.files.records import Record
from bookmarks.import_report import Report
from bookmarks.imports import store
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.owned_rows import Duplicate
from bookmarks.querysets import batch_writes
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.bookmarks.imports import NEVER
from tests.queries import queries_of
from tests.usergroups.factories import UserGroupFactory
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db

FACTORIES = {Bookmark: BookmarkFactory, Collection: CollectionFactory}
CHANGES = {Bookmark: {"title": "New"}, Collection: {"name": "New"}}

each_model = pytest.mark.parametrize("model", FACTORIES)


@pytest.fixture
def other_group(user_group):
    return UserGroupFactory(team=user_group.team)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (Bookmark, ["add_many", "find_by_id", "update_by_id", "delete_by_id"]),
        (Bookmark, ["delete_by_ids", "move_by_ids", "find_by_unique_key"]),
        (Collection, ["find_by_id", "update_by_id"]),
        (UserGroup, ["get_or_add", "update_by_provided_id", "rotate_token"]),
        (ApiToken, ["issue", "issue_for_each", "with_secret"]),
    ],
)
def test_only_the_manager_of_a_model_has_the_methods_that_take_an_owner(model, names):
    """The others would find rows that filters, or the relation, exclude."""
    owner = model._meta.get_field("team" if hasattr(model, "team") else "user_group")
    related = getattr(owner.related_model(pk=1), owner.remote_field.related_name)

    for name in names:
        assert hasattr(model.objects, name)
        assert not hasattr(model.objects.all(), name)
        assert not hasattr(model.objects.using("default"), name)
        assert not hasattr(related, name)
        assert hasattr(model.objects.db_manager("default"), name)


@each_model
def test_a_row_of_another_group_is_neither_found_nor_written(
    model, user_group, other_group
):
    row = FACTORIES[model](user_group=user_group)

    assert model.objects.find_by_id(other_group, str(row.pk)) is None
    with pytest.raises(model.DoesNotExist):
        model.objects.update_by_id(other_group, str(row.pk), **CHANGES[model])
    with pytest.raises(model.DoesNotExist):
        # which is not Modified, although there is another row
        model.objects.update_by_id(other_group, str(row.pk), [], **CHANGES[model])
    with pytest.raises(model.DoesNotExist):
        model.objects.delete_by_id(other_group, str(row.pk))
    assert model.objects.filter(**CHANGES[model]).count() == 0
    assert model.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", [Bookmark, Collection])
def test_python_code_may_pass_an_id_as_a_uuid(model, user_group):
    row = FACTORIES[model](user_group=user_group)

    updated = model.objects.update_by_id(user_group, row.pk, **CHANGES[model])

    assert updated == row
    assert model.objects.find_by_id(user_group, row.pk) == row


def test_a_unique_key_finds_only_the_bookmark_of_the_group(user_group, other_group):
    url = "https://example.com/"
    of_other = BookmarkFactory(user_group=other_group, url=url)
    key = of_other.unique_key
    BookmarkFactory(user_group=user_group, url="https://example.org/")
    collection = CollectionFactory(user_group=user_group)
    BookmarkFactory(user_group=user_group, url=url, collection=collection)

    assert Bookmark.objects.find_by_unique_key(user_group, key) is None
    assert Bookmark.objects.find_by_unique_keys(user_group, [key]) == {}

    own = BookmarkFactory(user_group=user_group, url=url)

    assert Bookmark.objects.find_by_unique_key(user_group, key) == own
    [found] = Bookmark.objects.find_by_unique_keys(user_group, [key]).values()
    assert found["id"] == own.pk


def test_a_bookmark_duplicates_neither_itself_nor_that_of_another_group(
    user_group, other_group
):
    url = "https://example.com/"
    bookmark = BookmarkFactory(user_group=user_group, url=url)
    BookmarkFactory(user_group=user_group)
    BookmarkFactory(user_group=other_group, url=url)
    collection = CollectionFactory(user_group=user_group)
    inside = BookmarkFactory(user_group=user_group, url=url, collection=collection)

    bookmark.validate_constraints()
    inside.validate_constraints()
    inside.collection = None
    with pytest.raises(ValidationError):
        inside.validate_constraints()


def test_a_collection_is_found_by_name_only_within_its_group(user_group, other_group):
    of_other = CollectionFactory(user_group=other_group, name="A")
    collections = Collection.objects

    with transaction.atomic():
        found, [created] = collections.get_or_create_many(user_group, ["A"])
    with pytest.raises(Duplicate) as raised:
        collections.add(user_group, "A")

    assert found == {"A": created}
    assert created != of_other
    assert raised.value.key == created.pk
    assert collections._find_duplicate(user_group, created) is None


def test_only_the_bookmarks_of_a_collection_depend_on_it(user_group):
    collection = CollectionFactory(user_group=user_group)
    BookmarkFactory(user_group=user_group)
    inside = BookmarkFactory(user_group=user_group, collection=collection)

    *_, bookmarks = Collection.rows.all().dependants([collection.pk])

    assert list(bookmarks) == [inside]


def test_only_what_a_user_group_owns_depends_on_it(user_group, other_group):
    for group in (user_group, other_group):
        BookmarkFactory(user_group=group)
        AccessTokenFactory(user_group=group)

    dependants = list(UserGroup.objects.dependants([user_group.pk]))

    owners = {row.user_group for rows in dependants for row in rows}
    assert owners == {user_group}


def test_only_the_user_groups_of_a_team_are_locked_when_it_is_deleted(user_group):
    UserGroupFactory()

    statements = queries_of(user_group.team.delete)

    groups = [sql for sql in statements if 'FROM "usergroups_usergroup"' in sql]
    assert groups
    assert all(" WHERE " in sql for sql in groups)


def test_only_the_tokens_of_an_owner_are_counted_and_only_the_owner_is_locked(
    user_group, other_group
):
    AccessTokenFactory(user_group=user_group)
    AccessTokenFactory(user_group=other_group)
    tokens = AccessToken.objects.all()

    assert tokens.count_active([user_group]) == {user_group.pk: 1}
    with transaction.atomic():
        assert list(tokens._owners_to_lock([user_group.pk])) == [user_group]


@pytest.mark.parametrize(
    ("column", "call"),
    [
        ("predecessor_id", lambda tokens: list(tokens.with_lineage())),
        ("first_id", lambda tokens: tokens.rotate(timedelta(), limited=True)),
        ("first_id", lambda tokens: tokens.revoke(successors=True)),
    ],
    ids=["lineage", "rotate", "revoke"],
)
def test_the_successors_of_tokens_are_looked_for_among_those_of_the_owner(
    column, call, user_group
):
    """An index of the owner finds them."""
    token = AccessTokenFactory(user_group=user_group, expires_at=None)
    token.rotate(timedelta(hours=1))

    statements = queries_of(call, AccessToken.objects.filter(pk=token.pk))

    conditions = [sql.partition(" WHERE ")[2] for sql in statements]
    about_chains = [each for each in conditions if f'"{column}"' in each]
    assert about_chains
    assert all('"user_group_id"' in each for each in about_chains)


def digest_in(sql, bookmark):
    return bookmark.url_digest.hex() in sql.lower()


def test_only_duplicates_are_read_when_a_collection_is_deleted(user_group):
    collection = CollectionFactory(user_group=user_group)
    single = BookmarkFactory(user_group=user_group, collection=collection)
    url = "https://example.com/twice"
    inside = BookmarkFactory(user_group=user_group, url=url, collection=collection)
    BookmarkFactory(user_group=user_group, url=url)

    statements = queries_of(collection.delete)

    counted, read = [sql for sql in statements if digest_in(sql, inside)]
    assert "COUNT" in counted
    assert "title" in read
    assert not digest_in(read, single)


def test_statements_about_some_bookmarks_name_them(user_group, monkeypatch):
    """Otherwise they would read, or lock, all bookmarks of the user group."""
    monkeypatch.setattr(batch_writes, "MAX_UNMEASURED", 0)
    [key] = keys = [BookmarkFactory(user_group=user_group).pk]
    bookmarks = Bookmark.objects

    sized = queries_of(lambda: bookmarks.estimate_move_size(user_group, keys))
    moved = queries_of(lambda: bookmarks.move_by_ids(user_group, keys, None))

    for statements in (sized, moved):
        [first] = [sql for sql in statements if "user_group_id" in sql][:1]
        assert key.hex in first.replace("-", "")

    deleted = queries_of(bookmarks.filter(user_group=user_group).delete)

    [last] = [sql for sql in deleted if sql.startswith("DELETE")]
    assert key.hex in last.replace("-", "")


def test_statements_about_some_user_groups_name_them(user_group):
    groups, scope = UserGroup.objects, user_group.scope
    name = user_group.provided_id

    [existing] = queries_of(groups.existing_ids, [name], scope)
    [sized] = queries_of(groups.estimate_upsert_size, [{"provided_id": name}], scope)

    assert name in existing.partition(" WHERE ")[2]
    assert name in sized.partition(" WHERE ")[2]


def test_several_bookmarks_of_another_group_are_neither_moved_nor_deleted(
    user_group, other_group
):
    bookmark = BookmarkFactory(user_group=user_group)
    collection = CollectionFactory(user_group=other_group)
    ids = [str(bookmark.pk)]

    assert Bookmark.objects.move_by_ids(other_group, ids, collection) == [(None, False)]
    assert Bookmark.objects.delete_by_ids(other_group, ids) == [False]
    assert Bookmark.objects.get().collection is None


def test_the_estimated_size_of_a_batch_is_that_of_the_groups_own_bookmarks(
    user_group, other_group, monkeypatch
):
    monkeypatch.setattr(batch_writes, "MAX_UNMEASURED", 1)
    own = BookmarkFactory(user_group=user_group, note="x" * 100)
    of_other = BookmarkFactory(user_group=other_group, note="y" * 1000)
    by_ids = partial(Bookmark.objects.estimate_move_size, user_group)
    by_items = partial(Bookmark.objects.estimate_add_size, user_group)

    assert by_ids([own.pk]) == by_items([{"url": own.url}]) == 0
    assert 100 < by_ids([own.pk, of_other.pk]) < 1000
    assert 100 < by_items([{"url": own.url}, {"url": of_other.url}]) < 1000


WRITES_IN_COLLECTION = {
    "add": lambda group, collection, bookmark: Bookmark.objects.add(
        user_group=group, url="https://example.org/", collection=collection
    ),
    "add_many": lambda group, collection, bookmark: Bookmark.objects.add_many(
        group, [{"url": "https://example.org/", "collection": collection}]
    ),
    "update_by_id": lambda group, collection, bookmark: Bookmark.objects.update_by_id(
        group, bookmark.pk, collection=collection
    ),
    "update_by_id, with the key": lambda group, collection, bookmark: (
        Bookmark.objects.update_by_id(group, bookmark.pk, collection_id=collection.pk)
    ),
    "move_by_ids": lambda group, collection, bookmark: Bookmark.objects.move_by_ids(
        group, [bookmark.pk], collection
    ),
    "store": lambda group, collection, bookmark: store(
        group, [Record("https://example.org/")], Report(), collection, deadline=NEVER
    ),
}


@pytest.mark.parametrize(
    "write", WRITES_IN_COLLECTION.values(), ids=WRITES_IN_COLLECTION
)
def test_no_method_puts_a_bookmark_into_a_collection_of_another_group(
    write, user_group, other_group
):
    own = CollectionFactory(user_group=user_group)
    bookmark = BookmarkFactory(user_group=user_group, collection=own)
    of_other = CollectionFactory(user_group=other_group)

    with pytest.raises(ValidationError) as raised:
        write(user_group, of_other, bookmark)

    assert raised.value.message_dict.keys() == {"collection"}
    assert Bookmark.objects.get().collection == own


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no such foreign key"
)
def test_postgresql_refuses_a_collection_of_another_group(user_group, other_group):
    bookmark = BookmarkFactory(user_group=user_group)
    of_other = CollectionFactory(user_group=other_group)

    def write():
        Bookmark.objects.filter(pk=bookmark.pk).update(collection=of_other)
        # as at the end of the transaction
        connection.check_constraints()

    with (
        pytest.raises(IntegrityError, match="bookmarks_collection_of_group"),
        transaction.atomic(),
    ):
        write()


@pytest.mark.parametrize(
    "write",
    [
        lambda *args: UserGroup.objects.update_by_provided_id(*args, name="New"),
        UserGroup.objects.rotate_token,
        UserGroup.objects.delete_by_provided_id,
    ],
    ids=["update", "rotate_token", "delete"],
)
def test_a_user_group_of_another_team_is_not_written(write, user_group):
    other = UserGroupFactory()

    with pytest.raises(UserGroup.DoesNotExist):
        write(user_group.provided_id, other.scope)

    stored = UserGroup.objects.get(pk=user_group.pk)
    assert (stored.name, stored.token) == (user_group.name, user_group.token)


@pytest.mark.parametrize(
    "write",
    [
        lambda: Bookmark.objects.update_by_id("id", title="New"),
        lambda: Bookmark.objects.delete_by_id("id"),
        lambda: Bookmark.objects.delete_by_ids(["id"]),
        lambda: Bookmark.objects.move_by_ids(["id"], None),
        lambda: UserGroup.objects.update_by_provided_id("id", name="New"),
        lambda: UserGroup.objects.delete_by_provided_id("id"),
        lambda: UserGroup.objects.rotate_token("id"),
    ],
)
def test_a_method_that_writes_cannot_be_called_without_an_owner(write):
    with pytest.raises(TypeError, match="required positional argument"):
        write()


@pytest.mark.parametrize("model", [ApiToken, AccessToken])
@pytest.mark.parametrize("name", ["rotate", "revoke", "revoke_by_public_ids", "delete"])
def test_a_manager_does_not_write_the_tokens_of_all_owners(model, name):
    assert not hasattr(model.objects, name)
    assert hasattr(model.objects.all(), name)
