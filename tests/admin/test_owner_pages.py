"""The pages of a user group and of a team, which show what one asks about
them.
"""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.formats import date_format

from tests.admin.actions import confirm, log_in_with, save, url
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, store_tokens
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db


def page_of(client, owner, **query):
    """Return the page of a user group or team."""
    address = url(f"usergroups_{owner._meta.model_name}_change", owner.pk)
    return client.get(address, query)


def text_of(page):
    """Return the text of a page, without its markup."""
    content = page.content.decode().partition('<div id="content"')[2]
    return " ".join(re.sub(r"<[^>]+>", " ", content).split())


def test_the_page_of_a_user_group_shows_what_one_asks_about_a_customer(
    admin_client, user_group
):
    now = timezone.now()
    AccessTokenFactory(user_group=user_group, name="Nightly sync")
    AccessTokenFactory(
        user_group=user_group,
        expires_at=now + timedelta(days=90),
        last_used_at=now - timedelta(hours=2),
        last_used_address="192.0.2.7",
    )
    AccessTokenFactory(user_group=user_group, name="Old", revoked=True)
    BookmarkFactory.create_batch(2, user_group=user_group)
    save(admin_client, user_group, name="Renamed", notes="Ask for Ann")

    page = page_of(admin_client, user_group)

    text = text_of(page)
    assert text.split(" Edit ")[0].endswith("Renamed")
    for shown in (
        f"{user_group.team} · {user_group.provided_id}",
        "Ask for Ann",
        "Active tokens: 2 Last use: 2 hours ago from 192.0.2.7",
        "Access tokens: 3 Open Add access token",
        "Bookmarks: 2 Open Add bookmark Import Export as HTML",
        "Nightly sync",
        "in 90 days",
        "Recent changes",
    ):
        assert shown in text, shown
    assert "Old" not in text
    # The form is behind Edit.
    assert 'name="mapping"' not in page.content.decode()
    assert (
        'name="mapping"' in page_of(admin_client, user_group, edit=1).content.decode()
    )


def test_the_page_names_the_token_with_the_last_refused_call(
    admin_client, user_group, call_bookmarks
):
    own = {"user_group": user_group, **refused_days_ago(3)}
    AccessTokenFactory(revoked=True, **own)
    yesterday = timezone.now() - timedelta(days=1)
    token = {"name": "Extension", "expires_at": yesterday, "refused_minutes": 13}
    expired = AccessTokenFactory(**{**own, **token})

    refused = call_bookmarks("GET", "token", token=expired)

    assert refused.status_code == 401
    page = text_of(page_of(admin_client, user_group))
    since = date_format(own["first_refused_at"], "DATE_FORMAT")
    assert (
        f"{expired} : Calls refused in 14 minutes since {since} (token expired), the "
        "last just now ."
    ) in page


def test_a_token_of_the_wrong_kind_is_counted_and_explained(admin_client, api_client):
    token = ApiTokenFactory()

    refused = api_client.get("/v1/token", HTTP_AUTHORIZATION=f"Bearer {token.secret}")

    assert refused.status_code == 401
    page = admin_client.get(url("usergroups_apitoken_change", token.pk))
    text = text_of(page)
    assert "The token works as “Token” on /api/." in text
    assert "(sent where another kind of token is used), the last just now ." in text


def refused_days_ago(number):
    """Return the fields of a token with a refused call."""
    at = timezone.now() - timedelta(days=number)
    return {"refused_minutes": 1, "first_refused_at": at, "last_refused_at": at}


def test_old_refusals_are_not_a_problem_of_today(admin_client):
    token = ApiTokenFactory(revoked=True, **refused_days_ago(8))

    assert "Calls refused" not in text_of(page_of(admin_client, token.team))


@pytest.mark.parametrize("action", ["rotate", "revoke"])
def test_the_actions_of_a_token_lead_back_to_its_owner(
    admin_client, user_group, action
):
    AccessTokenFactory(user_group=user_group)
    page = page_of(admin_client, user_group).content.decode()
    [address] = re.findall(f'href="([^"]+action={action}[^"]+)"', page)

    asked = admin_client.get(address.replace("&amp;", "&"))
    done = confirm(admin_client, asked, grace="0")

    back = url("usergroups_usergroup_change", user_group.pk)
    assert f'href="{back}"' in done.content.decode() or done.wsgi_request.path == back


ACTIONS = ["Edit", "Rotate", "Revoke", "Add access token", "Bookmarks"]
TOKENS = ["Sync", "Active tokens", "Last use"]


@pytest.mark.parametrize(
    ("kind", "permissions", "absent"),
    [
        ("usergroup", ["view_usergroup", "view_accesstoken"], ACTIONS),
        ("usergroup", ["view_usergroup"], TOKENS),
        ("team", ["view_team"], TOKENS),
    ],
)
def test_a_page_shows_and_offers_only_what_is_permitted(
    client, user_group, kind, permissions, absent
):
    AccessTokenFactory(user_group=user_group, name="Sync")
    ApiTokenFactory(team=user_group.team, name="Sync")
    log_in_with(client, *permissions)
    owner = {"usergroup": user_group, "team": user_group.team}[kind]

    text = text_of(page_of(client, owner))

    assert "All fields" in text
    assert [each for each in (*ACTIONS, *TOKENS) if each in text] == [
        each for each in TOKENS if each not in absent
    ]


def test_the_page_of_a_team_shows_its_api_tokens_and_what_belongs_to_it(admin_client):
    team = TeamFactory()
    ApiTokenFactory(team=team, name="Nightly sync")
    CollectionFactory(user_group__team=team)

    text = text_of(page_of(admin_client, team))

    assert f"team_id: {team.pk}" in text
    assert "Active tokens: 1 Last use: Never" in text
    for shown in ("User groups: 1", "API tokens: 1", "Collections: 1", "Nightly sync"):
        assert shown in text


def test_the_newest_1000_tokens_are_read_with_one_query(admin_client):
    token = ApiTokenFactory(expired=True)
    store_tokens(ApiToken, 1_000, team=token.team)
    page = url("usergroups_team_change", token.team_id)

    statements = queries_of(admin_client.get, page)

    assert "Active tokens: 1,000+" in text_of(page_of(admin_client, token.team))
    reads = [sql for sql in statements if '"refused_minutes"' in sql]
    assert len(reads) == 1
    assert "LIMIT 1000" in reads[0]


def test_the_breadcrumbs_lead_to_the_owners(admin_client, user_group):
    token = AccessTokenFactory(user_group=user_group)

    page = admin_client.get(url("bookmarks_accesstoken_change", token.pk))

    crumbs = page.content.decode().partition('class="breadcrumbs"')[2]
    links = re.findall(r'<a href="[^"]+">([^<]+)</a>', crumbs.partition("</div>")[0])
    assert links == ["Home", "Access tokens", str(user_group.team), str(user_group)]
