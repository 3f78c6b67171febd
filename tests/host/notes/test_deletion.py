"""Deletions of user groups to which rows of the host refer."""

import pytest
from django.contrib.admin.models import LogEntry

from bookmarks.models import Bookmark
from tests.admin.actions import confirm, url
from tests.answers import errors
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.host.customers.models import Agency, Customer, PlainGroup, Visit
from tests.host.notes.models import (
    Highlight,
    Mark,
    Mention,
    Note,
    Pin,
    Share,
    Step,
    Trace,
)
from tests.usergroups.factories import UserGroupFactory
from usergroups.db import cascades
from usergroups.events import is_owner, owner_of
from usergroups.models import Team, UserGroup

pytestmark = pytest.mark.django_db


def test_the_deletion_page_counts_each_deleted_row_once(admin_client, user_group):
    note = Note.objects.create(user_group=user_group, team=user_group.team)
    Note.objects.create(user_group=user_group, above=note)
    Mention.objects.create(token=user_group)
    Mark.objects.create(user_group=user_group)  # SET_NULL
    # RESTRICT, which permits the deletion because the note is deleted too
    Step.objects.create(user_group=user_group, note=note)

    page = admin_client.get(url("usergroups_team_delete", user_group.team.pk))

    deleted = {"teams": "1", "user groups": "1", "notes": "2", "mentions": "1"}
    assert page.context["form"].counts == {**deleted, "steps": "1"}
    confirm(admin_client, page, name=user_group.team.name)
    for model in (Team, UserGroup, Note, Mention, Step):
        assert not model.objects.exists()
    assert Mark.objects.get().user_group is None


def delete_in_the_admin(client, user_group):
    """Delete a user group on its page, and return the page that follows."""
    page = client.get(url("usergroups_usergroup_delete", user_group.pk))
    return confirm(client, page, name=user_group.name).content.decode()


@pytest.mark.parametrize("model", [Pin, Step], ids=["PROTECT", "RESTRICT"])
def test_rows_that_prevent_a_deletion_are_named_in_the_admin(
    admin_client, call_usergroups, user_group, model
):
    row = model.objects.create(user_group=user_group)
    bookmark = BookmarkFactory(user_group=user_group)
    query = {"user_group_id": user_group.provided_id}

    page = delete_in_the_admin(admin_client, user_group)
    response = call_usergroups("DELETE", "user", query=query)

    kind = model._meta.verbose_name
    named = f"Nothing was deleted, because these objects prevent it: {kind} {row}."
    assert named in page
    assert errors(response, 409) == [(None, "protected")]
    assert "Retry-After" not in response
    assert Bookmark.objects.contains(bookmark)
    assert UserGroup.objects.contains(user_group)
    assert not LogEntry.objects.exists()


def test_a_call_does_not_delete_a_protected_collection_or_bookmark(
    call_bookmarks, user_group
):
    bookmark = BookmarkFactory(user_group=user_group)
    collection = CollectionFactory(user_group=user_group)
    Share.objects.create(bookmark=bookmark, collection=collection)

    for name, row in (("bookmark", bookmark), ("collection", collection)):
        response = call_bookmarks("DELETE", name, str(row.pk))
        assert errors(response, 409) == [(None, "protected")]
        assert type(row).objects.contains(row)


def test_a_batch_deletes_all_bookmarks_but_the_protected_one(
    call_bookmarks, user_group
):
    bookmarks = BookmarkFactory.create_batch(3, user_group=user_group)
    Share.objects.create(bookmark=bookmarks[1])
    ids = [str(bookmark.pk) for bookmark in bookmarks]

    response = call_bookmarks(
        "POST", "bookmarks-batch-delete", body={"ids": [*ids, ids[0]]}
    )

    results = response.json()["results"]
    assert [result["status"] for result in results] == [200, 409, 200, 404]
    [error] = results[1]["errors"]
    shown = "Other objects refer to this one, so it cannot be deleted."
    assert error == {"code": "protected", "detail": shown, "attr": None}
    assert [*Bookmark.objects.all()] == [bookmarks[1]]


@pytest.mark.django_db(transaction=True)
def test_a_foreign_key_that_does_nothing_prevents_the_deletion_of_its_row_only(
    call_bookmarks, call_usergroups, admin_client, user_group
):
    bookmarks = BookmarkFactory.create_batch(2, user_group=user_group)
    Trace.objects.create(bookmark=bookmarks[0], user_group=user_group)
    ids = [str(bookmark.pk) for bookmark in bookmarks]
    query = {"user_group_id": user_group.provided_id}

    single = call_bookmarks("DELETE", "bookmark", ids[0])
    batch = call_bookmarks("POST", "bookmarks-batch-delete", body={"ids": ids})
    of_group = call_usergroups("DELETE", "user", query=query)
    other = UserGroupFactory(team=user_group.team)
    body = {"user_group_ids": [user_group.provided_id, other.provided_id]}
    of_groups = call_usergroups("POST", "users-batch-delete", body)
    page = delete_in_the_admin(admin_client, user_group)

    assert errors(single, 409) == [(None, "protected")]
    assert [each["status"] for each in batch.json()["results"]] == [409, 200]
    assert errors(of_group, 409) == [(None, "protected")]
    assert [each["status"] for each in of_groups.json()["results"]] == [409, 200]
    assert "because other objects prevent it" in page
    assert [*Bookmark.objects.all()] == [bookmarks[0]]


@pytest.mark.parametrize("model", [UserGroup, Customer, PlainGroup])
def test_a_group_of_an_inheriting_model_is_deleted_with_what_belongs_to_it(
    call_usergroups, admin_client, user_group, model
):
    agency = Agency(team_ptr=user_group.team, name="Agency", country="de")
    agency.save()
    customer = Customer(usergroup_ptr=user_group, rank=1)
    customer.save_base(raw=True)
    Visit.objects.create(customer=customer)
    Note.objects.create(user_group=user_group)
    BookmarkFactory(user_group=user_group)
    page = admin_client.get(url("usergroups_team_delete", agency.pk))
    assert page.context["form"].counts["visits"] == "1"

    model.objects.get(pk=user_group.pk).delete()

    for each in (UserGroup, Customer, Visit, Note, Bookmark):
        assert not each.objects.exists()


def test_a_call_deletes_a_group_of_an_inheriting_model(call_usergroups, user_group):
    Customer(usergroup_ptr=user_group, rank=1).save_base(raw=True)
    query = {"user_group_id": user_group.provided_id}

    assert call_usergroups("DELETE", "user", query=query).status_code == 200
    assert not Customer.objects.exists()


def test_a_call_does_not_delete_a_group_with_too_many_rows_of_the_host(
    call_usergroups, user_group, monkeypatch
):
    monkeypatch.setattr(cascades, "MAX_DEPENDANTS", 2)
    # The foreign key of a mention is the token of a group.
    for _ in range(3):
        Mention.objects.create(token=user_group)

    query = {"user_group_id": user_group.provided_id}
    response = call_usergroups("DELETE", "user", query=query)

    assert (response.status_code, Mention.objects.count()) == (409, 3)


def test_the_page_of_a_group_does_not_link_to_rows_of_models_without_an_admin(
    admin_client, user_group
):
    page = admin_client.get(url("usergroups_usergroup_change", user_group.pk))

    names = {link["name"] for link in page.context["related"]}
    assert names == {"bookmarks", "collections", "access tokens"}


def test_a_hidden_relation_limits_a_deletion(user_group, monkeypatch):
    bookmark = BookmarkFactory(user_group=user_group)
    Highlight.objects.bulk_create(Highlight(bookmark=bookmark) for _ in range(3))
    monkeypatch.setattr(cascades, "MAX_DEPENDANTS", 2)

    with pytest.raises(cascades.TooManyDependants):
        Bookmark.objects.delete_by_id(user_group, str(bookmark.pk))

    assert Highlight.objects.count() == 3


def test_events_of_inheriting_models_belong_to_their_rows(user_group):
    """Those of a deletion would refer to a row that no longer exists."""
    agency = Agency(team_ptr=user_group.team, country="de")

    assert owner_of(agency) == {"team_id": user_group.team_id}
    for model in (Agency, Customer, PlainGroup):
        assert is_owner(model)
    assert not is_owner(Visit)
