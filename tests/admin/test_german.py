"""Each page of the apps' admin in German.

The fixture ``everything`` is a dict with one object of each model.
"""

import json
import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from bookmarks.models import Bookmark
from tests.admin.actions import (
    act,
    act_on_page,
    allow_only,
    open_confirmation,
    save,
    url,
)
from tests.admin.german import GERMAN, in_english
from tests.admin.test_lists import MODELS
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory
from usergroups.models import ApiToken, Team

pytestmark = pytest.mark.django_db

TOKENS = ["usergroups_apitoken", "bookmarks_accesstoken"]


def page_of(name, model, query=""):
    """Return a function that requests a page of a model."""
    return lambda client, everything: client.get(url(f"{model}_{name}") + query)


def page_of_object(name, model):
    """Return a function that requests a page of the object of a model."""
    return lambda client, everything: client.get(
        url(f"{model}_{name}", everything[model].pk)
    )


def confirmation(model, action):
    return lambda client, everything: open_confirmation(
        client, model, action, everything[model]
    )


def add(model, **data):
    """Return a function that submits the form of a new object.

    A value may be a function of the existing objects.
    """

    def submit(client, everything):
        fields = dict(data)
        for name, value in data.items():
            if callable(value):
                fields[name] = value(everything)
        return client.post(url(f"{model}_add"), fields, follow=True)

    return submit


def history_of_changes(client, everything):
    """Save new values, which differ at each call, and return the history."""
    user_group = everything["usergroups_usergroup"]
    save(
        client,
        user_group,
        name=f"{timezone.now()}",
        mapping=json.dumps({"1": f"{timezone.now()}"}),
        properties="{}",
    )
    return client.get(url("usergroups_usergroup_history", user_group.pk), follow=True)


def history_of_tokens(client, everything):
    """Return the histories of a token and of its successor in one response."""
    fields = {"team": everything["usergroups_team"].pk, "name": f"{timezone.now()}"}
    client.post(url("usergroups_apitoken_add"), fields)
    token = ApiToken.objects.get(name=fields["name"])
    act(client, "usergroups_apitoken", "rotate", token, grace="24")
    act(client, "usergroups_apitoken", "revoke", token)
    successor = ApiToken.objects.filter(name=fields["name"]).exclude(pk=token.pk).get()
    page = client.get(url("usergroups_apitoken_history", token.pk), follow=True)
    other = client.get(url("usergroups_apitoken_history", successor.pk), follow=True)
    page.content += other.content
    return page


def history_after_an_import_and_a_rotation(client, everything):
    import_a_file(client, everything)
    user_group = everything["usergroups_usergroup"]
    act_on_page(client, "usergroups_usergroup", "rotate_token", user_group)
    return client.get(
        url("usergroups_usergroup_history", key_of_group(everything)), follow=True
    )


def rotated(client, everything):
    return act(
        client,
        "usergroups_apitoken",
        "rotate",
        ApiTokenFactory(name="", environment="Testing"),
        grace="24",
    )


def not_rotated(client, everything):
    return act(
        client,
        "usergroups_apitoken",
        "rotate",
        ApiTokenFactory(revoked=True),
        grace="24",
    )


def revoked(client, everything):
    return act(
        client, "bookmarks_accesstoken", "revoke", everything["bookmarks_accesstoken"]
    )


def deleted(client, everything):
    team = TeamFactory()
    return act(client, "usergroups_team", "delete_selected", team, name=team.name)


def deleted_meanwhile(client, everything):
    team = TeamFactory()
    page = open_confirmation(client, "usergroups_team", "delete_selected", team)
    Team.objects.filter(pk=team.pk).delete()
    return client.post(page.context["address"], {"confirmed": team.pk}, follow=True)


def many_rows(client, everything):
    """Return a page that lists twenty rows, followed by "and 2 more", and says
    that they must be deleted one at a time.
    """
    return open_confirmation(
        client, "usergroups_team", "delete_selected", *TeamFactory.create_batch(22)
    )


def token_states(client, everything):
    now = timezone.now()
    for state in ("expired", "expiring", "revoked"):
        ApiTokenFactory(read_only=True, **{state: True})
    ApiTokenFactory(
        expires_at=now + timedelta(days=90), last_used_at=now - timedelta(hours=5)
    )
    return client.get(url("usergroups_apitoken_changelist") + "?state=expired")


def viewed(client, everything):
    """Return the page of a user group for an operator who cannot change it."""
    allow_only(client, "usergroups_usergroup", "view")
    return client.get(
        url("usergroups_usergroup_change", everything["usergroups_usergroup"].pk)
    )


def import_a_file(client, everything):
    """Import rows with many kinds of problems, and more refused rows of one
    kind than the report lists.
    """
    lines = [
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
    file = SimpleUploadedFile("a.csv", "\n".join(lines).encode())
    return client.post(
        reverse("admin:bookmarks_bookmark_import"),
        {"user_group": key_of_group(everything), "file": file},
        follow=True,
    )


def not_imported(client, everything):
    return client.post(
        reverse("admin:bookmarks_bookmark_import"),
        {"file": SimpleUploadedFile("a.txt", b"https://a.example/")},
    )


def key_of_group(everything):
    return everything["usergroups_usergroup"].pk


def moved_to_a_foreign_collection(client, everything):
    address = url("bookmarks_bookmark_change", BookmarkFactory().pk)
    return client.post(address, {"collection": everything["bookmarks_collection"].pk})


def user_group_with(**fields):
    return lambda client, everything: save(
        client, everything["usergroups_usergroup"], **fields
    )


PAGES = {
    **{f"list of {model}": page_of("changelist", model) for model in MODELS},
    **{
        f"empty search of {model}": page_of("changelist", model, "?q=qqq")
        for model in MODELS
    },
    **{f"form of a new {model}": page_of("add", model) for model in MODELS},
    **{f"page of {model}": page_of_object("change", model) for model in MODELS},
    **{
        f"confirmation of deleting {model}": confirmation(model, "delete_selected")
        for model in MODELS
    },
    **{
        f"confirmation of revoking {model}": confirmation(model, "revoke")
        for model in TOKENS
    },
    **{
        f"confirmation of rotating {model}": confirmation(model, "rotate")
        for model in TOKENS
    },
    "confirmation for many rows": many_rows,
    "history of changes": history_of_changes,
    "history of tokens": history_of_tokens,
    "history of a group": history_after_an_import_and_a_rotation,
    "tokens of each state": token_states,
    "a user group to view": viewed,
    "a token is issued": add(
        "usergroups_apitoken", team=lambda rows: rows["usergroups_team"].pk, name="CI"
    ),
    "an access token is issued": add(
        "bookmarks_accesstoken", user_group=key_of_group, lifetime="30", read_only="on"
    ),
    "tokens are rotated": rotated,
    "a token is not rotated": not_rotated,
    "a token is revoked": revoked,
    "a team is deleted": deleted,
    "a deleted team is deleted": deleted_meanwhile,
    "import": page_of("import", "bookmarks_bookmark"),
    "a file is imported": import_a_file,
    "a file of another format": not_imported,
    "a duplicate collection": add(
        "bookmarks_collection", user_group=key_of_group, name="Findable"
    ),
    "a duplicate bookmark": add(
        "bookmarks_bookmark",
        user_group=key_of_group,
        url="https://example.com/Findable",
    ),
    "a foreign collection": moved_to_a_foreign_collection,
    "an invalid URL": add(
        "bookmarks_bookmark", user_group=key_of_group, url="mailto:a@example.com"
    ),
    "a duplicate user group": add(
        "usergroups_usergroup",
        name="A",
        team=lambda rows: rows["usergroups_usergroup"].team_id,
        provided_id=lambda rows: rows["usergroups_usergroup"].provided_id,
    ),
    "JSON that is not an object": user_group_with(mapping="[]", properties="1e999"),
    "JSON with invalid values": user_group_with(
        mapping='{"1": true}', properties="[" * 70
    ),
    "JSON that changed meanwhile": user_group_with(
        **{"mapping": '{"1": 2}', "initial-mapping": ""}
    ),
}
"""Functions that return a page.

The test calls each of them twice: in English and in German.
"""


@pytest.mark.parametrize("name", PAGES)
def test_no_english_text_is_left_on_a_german_page(admin_client, everything, name):
    english = PAGES[name](admin_client, everything)
    admin_client.defaults |= GERMAN

    german = PAGES[name](admin_client, everything)

    assert (english.status_code, german.status_code) == (200, 200)
    assert '<html lang="de" dir="ltr">' in german.content.decode()
    # The page has texts that the catalogs translate.
    assert in_english(english.content.decode())
    assert in_english(german.content.decode()) == set()


@pytest.mark.parametrize("model", MODELS)
def test_an_empty_list_is_german(admin_client, model):
    admin_client.defaults |= GERMAN

    page = admin_client.get(url(f"{model}_changelist")).content.decode()

    assert "hinzufügen" in page
    assert in_english(page) == set()


def test_numbers_and_times_have_the_german_format(admin_client, user_group):
    AccessTokenFactory(last_used_at=timezone.now() - timedelta(days=3))
    Bookmark.objects.bulk_create(
        Bookmark(user_group=user_group, url=f"https://example.com/{number}")
        for number in range(1_002)
    )
    admin_client.defaults |= GERMAN

    tokens = admin_client.get(url("bookmarks_accesstoken_changelist")).content.decode()

    # In the dative, unlike in Django's own texts.
    assert re.search(r">vor 3\sTagen<", tokens)
    bookmarks = admin_client.get(url("bookmarks_bookmark_changelist"))
    assert "1.002 Ergebnisse" in bookmarks.content.decode()
