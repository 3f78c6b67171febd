"""The admin as an operator uses it, over Django's handlers."""

import html
import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import connection

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.actions import act, url
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory, CollectionFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.models import ApiToken, UserGroup

pytestmark = pytest.mark.django_db


@pytest.fixture
def everything():
    """One of each."""
    user_group = UserGroupFactory(name="Findable", mapping={"40": 1}, properties={"plan": "pro"})
    collection = CollectionFactory(user_group=user_group, name="Findable")
    return {
        "usergroups_team": TeamFactory(name="Findable"),
        "usergroups_usergroup": user_group,
        "usergroups_apitoken": ApiTokenFactory(team=user_group.team, name="Findable"),
        "bookmarks_collection": collection,
        "bookmarks_accesstoken": AccessTokenFactory(user_group=user_group, name="Findable"),
        "bookmarks_bookmark": BookmarkFactory(
            user_group=user_group, collection=collection, url="https://example.com/Findable"
        ),
    }


MODELS = [
    "usergroups_team",
    "usergroups_usergroup",
    "usergroups_apitoken",
    "bookmarks_collection",
    "bookmarks_accesstoken",
    "bookmarks_bookmark",
]


@pytest.mark.parametrize("model", MODELS)
def test_each_model_is_listed_searched_and_read(admin_client, everything, model):
    instance = everything[model]

    listed = admin_client.get(url(f"{model}_changelist"), {"q": "findable"})
    missed = admin_client.get(url(f"{model}_changelist"), {"q": "nowhere to be found"})
    page = admin_client.get(url(f"{model}_change", instance.pk))
    form = admin_client.get(url(f"{model}_add"))

    assert list(listed.context["cl"].queryset) == [instance]
    assert list(missed.context["cl"].queryset) == []
    assert "Findable" in page.content.decode()
    assert form.status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_every_filter_works(admin_client, everything, model):
    page = admin_client.get(url(f"{model}_changelist"))

    links = re.findall(r'href="(\?[^"]+)"', page.content.decode())
    assert links
    for link in links:
        answer = admin_client.get(url(f"{model}_changelist") + html.unescape(link))

        assert answer.status_code == 200


def test_tokens_are_filtered_by_state(admin_client):
    active, revoked, expired = ApiTokenFactory(), ApiTokenFactory(revoked=True), ApiTokenFactory(expired=True)
    expiring = ApiTokenFactory(expiring=True)

    def listed(state):
        page = admin_client.get(url("usergroups_apitoken_changelist"), {"state": state})
        return set(page.context["cl"].queryset)

    assert listed("active") == {active}
    assert listed("expiring") == {expiring}
    assert listed("expired") == {expired}
    assert listed("revoked") == {revoked}
    assert listed("unknown") == {active, expiring, expired, revoked}


ISSUE = {
    "usergroups_apitoken": (ApiToken, lambda: {"team": TeamFactory().pk, "environment": "Testing"}),
    "bookmarks_accesstoken": (AccessToken, lambda: {"user_group": UserGroupFactory().pk}),
}


@pytest.mark.parametrize("model", ISSUE)
@pytest.mark.parametrize("button", ["_save", "_continue", "_addanother", "_popup"])
def test_a_secret_is_shown_once_on_the_page_that_answers_its_creation(admin_client, caplog, model, button):
    token_model, owner = ISSUE[model]

    page = admin_client.post(url(f"{model}_add"), {**owner(), "name": "CI", button: "1"})

    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    secret = re.search(r'<code id="secret">(\w+)</code>', page.content.decode())[1]
    token = token_model.objects.authenticate(secret)
    assert token.name == "CI"
    shown_again = [
        *(admin_client.get(url(name, *args)).content.decode() for name, *args in (
            ("index",), (f"{model}_changelist",), (f"{model}_change", token.pk), (f"{model}_history", token.pk),
        )),
        str(LogEntry.objects.values().get()),
        str([session.get_decoded() for session in Session.objects.all()]),
        str(admin_client.cookies),
        caplog.text,
    ]  # fmt: skip
    assert [place for place in shown_again if secret in place] == []


def test_a_token_that_is_not_valid_is_not_issued(admin_client):
    page = admin_client.post(url("usergroups_apitoken_add"), {"team": "", "environment": "Production"})

    assert page.context["adminform"].errors.keys() == {"team", "environment"}
    assert not ApiToken.objects.exists()


def test_of_a_token_only_name_and_end_change(admin_client):
    token = ApiTokenFactory(environment="Testing")
    form = {"team": TeamFactory().pk, "environment": "", "read_only": "on", "name": "New name", "expires_at_0": "",
            "expires_at_1": ""}  # fmt: skip

    admin_client.post(url("usergroups_apitoken_change", token.pk), form)

    changed = ApiToken.objects.get()
    assert (changed.team, changed.environment, changed.read_only, changed.name) == (
        token.team, "Testing", False, "New name",
    )  # fmt: skip
    assert ApiToken.objects.authenticate(token.secret) == token


def test_names_keep_their_spaces(admin_client):
    user_group = UserGroupFactory(name="  spaces  ")

    page = admin_client.get(url("usergroups_usergroup_change", user_group.pk))
    form = page.context["adminform"].form
    admin_client.post(url("usergroups_usergroup_change", user_group.pk), {"name": form["name"].value()})

    assert UserGroup.objects.get().name == "  spaces  "


def bookmark_form(user_group, **fields):
    return {"user_group": user_group.pk, "collection": "", "url": "https://example.com/", **fields}


def test_a_bookmark_is_made(admin_client):
    user_group = UserGroupFactory()

    admin_client.post(url("bookmarks_bookmark_add"), bookmark_form(user_group))

    assert Bookmark.objects.get().user_group == user_group


@pytest.mark.parametrize("in_collection", [False, True])
def test_a_duplicate_is_refused_with_a_message(admin_client, in_collection):
    user_group = UserGroupFactory()
    collection = CollectionFactory(user_group=user_group) if in_collection else None
    BookmarkFactory(user_group=user_group, collection=collection, url="https://example.com/")
    fields = {"url": "HTTPS://EXAMPLE.COM:443", "collection": collection.pk if collection else ""}

    page = admin_client.post(url("bookmarks_bookmark_add"), bookmark_form(user_group, **fields))

    assert "has this bookmark there already." in str(page.context["adminform"].errors)
    assert Bookmark.objects.count() == 1


@pytest.mark.parametrize("bad", ["", "ftp://example.com/", "example.com", "https://example.com/" + "a" * 8000])
def test_a_bad_url_is_refused_with_a_message(admin_client, bad):
    page = admin_client.post(url("bookmarks_bookmark_add"), bookmark_form(UserGroupFactory(), url=bad))

    assert page.context["adminform"].errors.keys() == {"url"}


def test_a_bookmark_is_moved_only_within_its_group(admin_client):
    bookmark = BookmarkFactory()
    own, foreign = CollectionFactory(user_group=bookmark.user_group), CollectionFactory()

    page = admin_client.post(url("bookmarks_bookmark_change", bookmark.pk), {"collection": foreign.pk})
    assert page.context["adminform"].errors == {"collection": ["The user group has no such collection."]}

    admin_client.post(url("bookmarks_bookmark_change", bookmark.pk), {"collection": own.pk})
    assert Bookmark.objects.get().collection == own


def test_a_bookmark_is_not_moved_onto_a_duplicate(admin_client):
    bookmark = BookmarkFactory()
    collection = CollectionFactory(user_group=bookmark.user_group)
    BookmarkFactory(user_group=bookmark.user_group, collection=collection, url=bookmark.url)

    page = admin_client.post(url("bookmarks_bookmark_change", bookmark.pk), {"collection": collection.pk})

    assert "has this bookmark there already." in str(page.context["adminform"].errors)
    bookmark.refresh_from_db()
    assert bookmark.collection is None


@pytest.mark.parametrize("by_action", [False, True])
def test_a_deleted_collection_leaves_its_bookmarks(admin_client, by_action):
    bookmark = BookmarkFactory()
    collection = CollectionFactory(user_group=bookmark.user_group)
    Bookmark.objects.update(collection=collection)

    if by_action:
        act(admin_client, "bookmarks_collection", "delete_selected", collection)
    else:
        admin_client.post(url("bookmarks_collection_delete", collection.pk), {"post": "yes"})

    assert not Collection.objects.exists()
    assert Bookmark.objects.get().collection is None


def test_what_a_caller_changed_since_the_form_was_shown_stands(admin_client, everything):
    user_group = everything["usergroups_usergroup"]
    before = user_group.updated_at

    def change_first(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and '"name"' in sql:
            with connection.cursor() as cursor:
                cursor.execute('UPDATE usergroups_usergroup SET properties = \'{"plan": "pro"}\'')
        return execute(sql, params, many, context)

    with connection.execute_wrapper(change_first):
        admin_client.post(url("usergroups_usergroup_change", user_group.pk), {"name": "Renamed"})

    user_group.refresh_from_db()
    assert (user_group.name, user_group.properties) == ("Renamed", {"plan": "pro"})
    assert user_group.updated_at > before


def test_a_token_that_was_revoked_since_the_form_was_shown_stays_revoked(admin_client):
    token = ApiTokenFactory()

    def revoke_first(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and '"name"' in sql:
            with connection.cursor() as cursor:
                cursor.execute("UPDATE usergroups_apitoken SET revoked_at = created_at")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(revoke_first):
        admin_client.post(url("usergroups_apitoken_change", token.pk), {"name": "Renamed"})

    token.refresh_from_db()
    assert (token.name, token.is_active) == ("Renamed", False)


def test_a_user_group_goes_with_all_that_is_its_own(admin_client, everything):
    admin_client.post(url("usergroups_usergroup_delete", everything["usergroups_usergroup"].pk), {"post": "yes"})

    assert [model.objects.count() for model in (UserGroup, Collection, Bookmark, AccessToken)] == [0, 0, 0, 0]


def test_a_user_without_permissions_sees_nothing(client, django_user_model, everything):
    client.force_login(django_user_model.objects.create_user("staff", is_staff=True))

    for model in MODELS:
        assert client.get(url(f"{model}_changelist")).status_code == 403
