"""No text that the catalogs translate is left in English on a German page of
the admin.

The fixture ``everything`` is a dict with one object of each model.
"""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from bookmarks.models import Bookmark
from tests.admin.actions import (
    act,
    act_on_page,
    allow_only,
    issue,
    open_confirmation,
    save,
    url,
)
from tests.admin.german import GERMAN, in_english
from tests.admin.test_files import upload
from tests.admin.test_lists import MODELS
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory
from usergroups.models import ApiToken, Team

pytestmark = [pytest.mark.database_independent, pytest.mark.django_db]


@pytest.fixture
def german(admin_client):
    """Return the client of an operator whose browser prefers German."""
    admin_client.defaults |= GERMAN
    return admin_client


def check(*pages):
    """Check that pages are German, and return the text of the last one."""
    for page in pages:
        text = page.content.decode()
        assert page.status_code == 200
        assert '<html lang="de" dir="ltr">' in text
        assert in_english(text) == set(), page.request
    return text


def test_the_english_texts_of_a_page_are_found(admin_client):
    """Otherwise, the other tests would find none."""
    assert len(in_english(admin_client.get(url("index")).content.decode())) > 10


@pytest.mark.parametrize("model", MODELS)
def test_the_pages_of_a_model_are_german(german, everything, model):
    row = everything[model]

    check(
        german.get(url(f"{model}_changelist")),
        german.get(url(f"{model}_changelist"), {"q": "qqq"}),
        german.get(url(f"{model}_add")),
        german.get(url(f"{model}_change", row.pk)),
        open_confirmation(german, model, "delete_selected", row),
    )


@pytest.mark.parametrize("model", MODELS)
def test_an_empty_list_is_german(german, model):
    assert "hinzufügen" in check(german.get(url(f"{model}_changelist")))


@pytest.mark.parametrize("model", ["usergroups_apitoken", "bookmarks_accesstoken"])
def test_the_actions_on_a_token_are_german(german, everything, model):
    token = everything[model]

    check(
        open_confirmation(german, model, "revoke", token),
        open_confirmation(german, model, "rotate", token),
        act(german, model, "rotate", token, grace="24"),
        act(german, model, "revoke", token),
        act(german, model, "rotate", token, grace="24"),  # which is refused
        german.get(url(f"{model}_history", token.pk), follow=True),
    )


def test_the_states_of_tokens_are_german(german):
    now = timezone.now()
    for state in ("expired", "expiring", "revoked", "rotated"):
        ApiTokenFactory(read_only=True, **{state: True})
    ApiTokenFactory(
        expires_at=now + timedelta(days=90), last_used_at=now - timedelta(hours=5)
    )

    for token in ApiToken.objects.all():
        check(german.get(url("usergroups_apitoken_change", token.pk)))
    check(german.get(url("usergroups_apitoken_changelist"), {"state": "expired"}))


def test_new_tokens_and_refused_forms_are_german(german, everything):
    group = everything["usergroups_usergroup"]
    bookmark = everything["bookmarks_bookmark"]
    of_another = {"collection": everything["bookmarks_collection"].pk}
    stranger = url("bookmarks_bookmark_change", BookmarkFactory().pk)
    taken = {"user_group": group.pk, "collection": bookmark.collection_id}

    check(
        issue(german, "usergroups_apitoken", team=group.team_id, name="CI"),
        issue(german, "bookmarks_accesstoken", user_group=group.pk, lifetime="30"),
        issue(german, "bookmarks_collection", user_group=group.pk, name="Findable"),
        issue(german, "bookmarks_bookmark", **taken, url=bookmark.url),
        issue(german, "bookmarks_bookmark", **taken, url="mailto:a@example.com"),
        german.post(stranger, of_another),
        issue(
            german,
            "usergroups_usergroup",
            name="A",
            team=group.team_id,
            provided_id=group.provided_id,
        ),
        save(german, group, mapping="[]", properties="1e999"),
        save(german, group, mapping='{"1": true}', properties="[" * 70),
        save(german, group, **{"mapping": '{"1": 2}', "initial-mapping": ""}),
    )


def test_deletions_are_german(german):
    teams = TeamFactory.create_batch(22)
    model, action = "usergroups_team", "delete_selected"
    late = open_confirmation(german, model, action, teams[0])
    Team.objects.filter(pk=teams[0].pk).delete()

    check(
        # twenty rows, "and 1 more", and that they are deleted one at a time
        open_confirmation(german, model, action, *teams),
        german.post(late.context["address"], {"confirmed": teams[0].pk}, follow=True),
        act(german, model, action, teams[1], name=teams[1].name),
    )


# many kinds of problems, and more refused rows of one kind than a report lists
ROWS = [
    "url,title,created_at",
    "https://a/,A,",
    "https://a/,A,",
    "x,A,",
    f"https://b/,{'x' * 1001},",
    ",D,",
    "https://c/,C,yesterday",
    "ftp://e/,E,",
    " https://f/,F,",
    '"https://g\x01/",G,',
    *["y,,"] * 100,
]


def test_imports_and_the_history_of_a_user_group_are_german(german, everything):
    group = everything["usergroups_usergroup"]
    changes = {"name": "Neu", "mapping": '{"1": "a"}', "properties": "{}"}

    check(
        german.get(url("bookmarks_bookmark_import")),
        upload(german, group, "a.csv", "\n".join(ROWS).encode()),
        upload(german, group, "a.odt", b"x"),
        save(german, group, follow=True, **changes),
        act_on_page(german, "usergroups_usergroup", "rotate_token", group),
        german.get(url("usergroups_usergroup_history", group.pk), follow=True),
    )


def test_the_page_of_a_user_group_that_can_only_be_viewed_is_german(german, everything):
    allow_only(german, "usergroups_usergroup", "view")

    key = everything["usergroups_usergroup"].pk
    check(german.get(url("usergroups_usergroup_change", key)))


def test_the_pages_of_accounts_and_roles_are_german(german, admin_user):
    """Django does not translate the names of permissions."""
    for address in (
        url("auth_user_changelist"),
        url("auth_user_add"),
        url("auth_user_change", admin_user.pk),
        url("auth_group_changelist"),
    ):
        text = german.get(address).content.decode()
        assert {"Role", "Advanced", "Reset password"}.isdisjoint(in_english(text))


def test_the_first_page_and_the_login_page_are_german(german, client, everything):
    ApiTokenFactory(expiring=True)
    act(german, "usergroups_apitoken", "revoke", ApiTokenFactory())

    index = check(german.get(url("index")))
    check(client.get(url("login"), **GERMAN), german.get("/"))

    assert "<h1>Übersicht</h1>" in index
    assert "Widerrufen · 1 API-Token" in index
    assert re.search("admin, <time[^>]*>gerade eben<", index)


def test_numbers_and_times_have_the_german_format(german, user_group):
    AccessTokenFactory(last_used_at=timezone.now() - timedelta(days=3))
    Bookmark.objects.bulk_create(
        Bookmark(user_group=user_group, url=f"https://example.com/{number}")
        for number in range(1_002)
    )

    tokens = check(german.get(url("bookmarks_accesstoken_changelist")))
    bookmarks = check(german.get(url("bookmarks_bookmark_changelist")))

    # In the dative, unlike in Django's own texts.
    assert re.search(r">vor 3\sTagen<", tokens)
    assert "1.002 Ergebnisse" in bookmarks
