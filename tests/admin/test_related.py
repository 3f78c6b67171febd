"""Pages that are opened from a filtered list, or from a row's page, know the row."""

import html
import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from bookmarks.models import Bookmark
from tests.admin.actions import log_in_with, url
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory, CollectionFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.models import Team, UserGroup

pytestmark = pytest.mark.django_db


def from_list(page, filters):
    """Return the address to which a list with these filters links."""
    return f"{url(page)}?_changelist_filters={quote(filters)}"


def initial(client, page, filters):
    """Return the values that a form begins with, without those that are empty."""
    form = client.get(from_list(page, filters)).context["adminform"].form
    return {name: str(form[name].value()) for name in form.fields if form[name].value()}


@pytest.fixture
def collection(user_group):
    return CollectionFactory(user_group=user_group)


@pytest.mark.parametrize("model", ["usergroups_usergroup", "usergroups_apitoken"])
def test_adding_in_a_list_of_a_team_begins_with_the_team(admin_client, user_group, model):
    query = f"team__id__exact={user_group.team_id}&q=a"
    page = admin_client.get(f"{url(f'{model}_changelist')}?{query}").content.decode()
    [link] = re.findall(rf'href="({url(f"{model}_add")}\?[^"]+)"', page)

    form = admin_client.get(html.unescape(link)).context["adminform"].form

    assert str(form["team"].value()) == str(user_group.team_id)


@pytest.mark.parametrize("model", ["bookmarks_collection", "bookmarks_accesstoken", "bookmarks_bookmark"])
def test_adding_in_a_list_of_a_group_begins_with_the_group(admin_client, user_group, model):
    begun = initial(admin_client, f"{model}_add", f"user_group__id__exact={user_group.pk}")

    assert begun == {"user_group": str(user_group.pk), **({"lifetime": "90"} if "token" in model else {})}


def test_adding_in_a_list_of_a_collection_begins_with_the_collection_and_its_group(admin_client, collection):
    assert initial(admin_client, "bookmarks_bookmark_add", f"collection__id__exact={collection.pk}") == {
        "user_group": str(collection.user_group_id),
        "collection": str(collection.pk),
    }


@pytest.mark.parametrize("page", ["import", "export"])
def test_import_and_export_begin_with_the_group_of_the_list(admin_client, user_group, page):
    query = f"user_group__id__exact={user_group.pk}"
    listed = admin_client.get(f"{url('bookmarks_bookmark_changelist')}?{query}").content.decode()
    [link] = re.findall(rf'href="({url(f"bookmarks_bookmark_{page}")}\?[^"]+)"', listed)

    opened = admin_client.get(html.unescape(link)).content.decode()

    assert (f'value="{user_group.pk}" selected' if page == "import" else 'value="html"') in opened


def test_saving_leads_back_to_the_filtered_list(admin_client, user_group):
    query = f"user_group__id__exact={user_group.pk}"

    saved = admin_client.post(
        from_list("bookmarks_collection_add", query), {"user_group": user_group.pk, "name": "New"}
    )

    assert saved.url == f"{url('bookmarks_collection_changelist')}?{query}"


def test_rows_that_the_operator_may_not_view_are_not_named(client, collection):
    log_in_with(client, "view_bookmark", "add_bookmark", "view_collection", "add_collection")

    for filters in (f"user_group__id__exact={collection.user_group_id}", f"collection__id__exact={collection.pk}"):
        for page in ("bookmarks_bookmark_add", "bookmarks_bookmark_import", "bookmarks_bookmark_export"):
            shown = client.get(from_list(page, filters), follow=True).content.decode()
            assert collection.user_group.provided_id not in shown.replace(str(collection), "")


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

    assert {name: [label for label, _ in each["links"]] for name, each in links.items()} == {
        "access tokens": ["Add access token here"],
        "collections": ["Add collection here"],
        "bookmarks": ["Add bookmark here", "Import", "Export"],
        "API tokens that reach it": [],
    }
    for each in links.values():
        for _, link in each["links"]:
            assert parse_qs(urlsplit(link).query) == {"_changelist_filters": [urlsplit(each["url"]).query]}


def test_pages_that_the_operator_may_not_open_are_not_linked(client, user_group):
    log_in_with(client, "view_team", "view_usergroup", "view_bookmark", "add_usergroup")

    links = related(client, "usergroups_team", user_group.team)

    assert {name: [label for label, _ in each["links"]] for name, each in links.items()} == {
        "user groups": ["Add user group here"],
        "bookmarks": ["Export"],
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
