"""The page of an owner links to what belongs to it, and to forms that begin with the owner."""

from urllib.parse import quote

import pytest

from bookmarks.models import Bookmark
from tests.admin.actions import log_in_with, url
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.models import Team, UserGroup

pytestmark = pytest.mark.django_db


def test_saving_leads_back_to_the_filtered_list(admin_client, user_group):
    query = f"user_group__id__exact={user_group.pk}"
    address = f"{url('bookmarks_collection_add')}?_changelist_filters={quote(query)}"

    saved = admin_client.post(address, {"user_group": user_group.pk, "name": "New"})

    assert saved.url == f"{url('bookmarks_collection_changelist')}?{query}"


def test_owners_that_the_operator_may_not_view_are_not_named(client, user_group):
    log_in_with(client, "view_bookmark", "add_bookmark", "view_collection", "add_collection")

    for page in ("bookmarks_bookmark_add", "bookmarks_bookmark_import", "bookmarks_bookmark_export"):
        shown = client.get(url(page), {"user_group": user_group.pk})
        assert shown.status_code == 200
        assert user_group.provided_id not in shown.content.decode()


def related(client, model, row):
    return {each["name"]: each for each in client.get(url(f"{model}_change", row.pk)).context["related"]}


def test_the_page_of_a_team_counts_and_links_everything(admin_client, everything):
    group = everything["usergroups_usergroup"]
    AccessTokenFactory(user_group=UserGroupFactory(team=group.team))
    ApiTokenFactory()
    BookmarkFactory()

    links = related(admin_client, "usergroups_team", group.team)

    assert {name: each["count"] for name, each in links.items()} == {
        "user groups": "2", "API tokens": "1", "access tokens": "2", "collections": "1", "bookmarks": "1"
    }  # fmt: skip
    for each in links.values():
        assert str(admin_client.get(each["url"]).context["cl"].result_count) == each["count"]


def test_the_page_of_a_group_links_to_forms_of_the_group(admin_client, user_group):
    links = related(admin_client, "usergroups_usergroup", user_group)

    assert {name: [label for label, _ in each.get("links", [])] for name, each in links.items()} == {
        "access tokens": ["Add access token here"],
        "collections": ["Add collection here"],
        "bookmarks": ["Add bookmark here", "Import", "Export"],
        "API tokens that reach it": [],
    }
    for _, link in [link for each in links.values() for link in each.get("links", [])]:
        assert f'value="{user_group.pk}" selected' in admin_client.get(link).content.decode()


def test_pages_that_the_operator_may_not_open_are_not_linked(client, user_group):
    log_in_with(client, "view_team", "view_usergroup", "view_bookmark", "add_usergroup")

    links = related(client, "usergroups_team", user_group.team)

    assert {name: [label for label, _ in each["links"]] for name, each in links.items()} == {
        "user groups": ["Add user group here"],
        "bookmarks": [],
    }


def test_the_page_of_a_team_takes_a_query_for_each_count(admin_client):
    group = UserGroupFactory()
    address = url("usergroups_team_change", group.team_id)
    few = queries_of(admin_client.get, address)
    groups = UserGroup.objects.bulk_create(
        UserGroup(team=group.team, provided_id=f"g{n}", name="G") for n in range(500)
    )
    Bookmark.objects.bulk_create(Bookmark(user_group=each, url="https://example.com/") for each in groups)

    many = queries_of(admin_client.get, address)

    # Session, user, the team, and five counts.
    assert len(few) == len(many) == 8
    assert Team.objects.count() == 1
