"""Calls, the admin and commands with a read replica that lags behind.

It is empty, unless a test adds rows.
"""

import io

import pytest
from django.core.management import call_command
from django.urls import reverse

from bookmarks.models import Bookmark
from tests.admin.actions import act, act_on_page, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.operations import OPERATIONS, READS, WRITES, caller, valid_body_of
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db(databases=["default", "replica"])


@pytest.fixture(autouse=True)
def routers():
    """Keep the router of the host, which the fixture of this name in
    ``tests/host/conftest.py`` removes.
    """


@pytest.fixture
def primary(user_group):
    """Return the user group and its objects, which are only in the primary
    database.
    """
    return {
        "collection": CollectionFactory(user_group=user_group, name="Fresh"),
        "bookmark": BookmarkFactory(user_group=user_group),
        "user_group": user_group,
    }


@pytest.mark.parametrize("name", WRITES)
def test_a_write_succeeds_although_the_replica_is_empty(api_client, user_group, name):
    call = caller(api_client, user_group, name)

    response = call(valid_body_of(name, user_group))

    assert response.status_code in (200, 201), response.content
    for result in response.json().get("results", []):
        assert result["status"] in (200, 201)


LISTS = [
    name
    for name in READS
    if name.startswith("list_") and not OPERATIONS[name].needs_object
]
READS_OF_AN_OBJECT = [name for name in READS if OPERATIONS[name].needs_object]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_answered_by_the_replica(api_client, user_group, name):
    response = caller(api_client, user_group, name)()

    assert response.status_code == 200
    lists = [value for value in response.json().values() if isinstance(value, list)]
    assert lists == [[]]


def test_a_collection_is_exported_from_the_database_that_found_it(
    api_client, user_group, primary
):
    BookmarkFactory(user_group=user_group, collection=primary["collection"])
    query = {"collection": str(primary["collection"].pk), "format": "csv"}

    response = caller(api_client, user_group, "export_bookmarks")(query=query)

    assert response.status_code == 200
    assert b",Fresh," in response.content


@pytest.mark.parametrize("name", READS_OF_AN_OBJECT)
def test_a_read_of_an_object_is_answered_by_the_replica(api_client, user_group, name):
    call = caller(api_client, user_group, name)

    assert call(valid_body_of(name, user_group)).status_code == 404


@pytest.mark.parametrize("name", ["get_user_group", "get_bookmark"])
def test_a_revoked_token_is_refused_before_the_replica_knows(
    api_client, user_group, primary, name
):
    call = caller(api_client, user_group, name)
    for row in (user_group.team, user_group, call.token):
        # the state before the token is revoked
        row.save(using="replica", force_insert=True)
    call.token.revoke()

    assert call().status_code == 401


def test_conflicts_are_found_in_the_primary_database(api_client, primary):
    group = primary["user_group"]
    body = valid_body_of("create_bookmark", group)
    bookmark = BookmarkFactory(
        user_group=group, url=body["url"], collection_id=body["collection"]
    )
    update = caller(api_client, group, "update_bookmark")
    create = caller(api_client, group, "create_bookmark")

    assert create(body).json()["bookmark"]["id"] == str(bookmark.pk)
    assert update(body).status_code == 409


def test_the_admin_works_on_the_primary_database(admin_client, primary):
    group = primary["user_group"]
    bookmark = primary["bookmark"]

    found = admin_client.post(reverse("second:find"), {"text": bookmark.url})
    act(admin_client, "bookmarks_bookmark", "delete_selected", bookmark)
    act_on_page(admin_client, "usergroups_usergroup", "rotate_token", group)

    assert found.url == reverse("second:bookmarks_bookmark_change", args=[bookmark.pk])
    assert UserGroup.objects.using("default").get().token != group.token
    assert not Bookmark.objects.using("default").exists()


def test_a_form_of_the_admin_refuses_a_row_that_the_replica_lacks(
    admin_client, primary
):
    data = {"user_group": primary["user_group"].pk, "url": "https://example.com/admin"}

    page = admin_client.post(url("bookmarks_bookmark_add"), data)

    assert list(page.context["adminform"].form.errors) == ["user_group"]


def test_the_commands_work_on_the_primary_database(primary, tmp_path):
    group = primary["user_group"]
    path = tmp_path / "bookmarks.jsonl"
    path.write_text('{"url": "https://example.com/imported", "collection": "Fresh"}\n')
    names = {"team": group.team.name, "environment": group.environment}
    user_group = {"user_group": group.provided_id}
    output = io.StringIO()

    call_command("create_api_token", **names, stdout=output, stderr=output)
    call_command("import_bookmarks", str(path), **names, **user_group, stdout=output)

    assert ApiToken.objects.using("default").get().team_id == group.team_id
    imported = Bookmark.objects.using("default").exclude(pk=primary["bookmark"].pk)
    assert imported.get().collection_id == primary["collection"].pk
