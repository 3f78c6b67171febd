"""The admin's first page."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from bookmarks.models import AccessToken
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.queries import plan_nodes, queries_of
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory

pytestmark = pytest.mark.django_db

INDEX = reverse("admin:index")
TABLE = AccessToken._meta.db_table


def test_tokens_that_need_attention_are_listed(admin_client):
    expiring = ApiTokenFactory(expiring=True)
    unused = AccessTokenFactory(unused=True)
    others = [
        ApiTokenFactory(),
        ApiTokenFactory(expired=True),
        AccessTokenFactory(unused=True, revoked=True),
    ]

    page = admin_client.get(INDEX).content.decode()

    for token in (expiring, unused):
        assert re.search(
            rf'<a href="[^"]+">{token}</a>, {re.escape(str(token.owner))}, ', page
        )
    for token in others:
        assert token.hint not in page
    assert "state=expiring" not in page  # no link "Show all", as these are all


def test_a_table_of_tokens_shows_five_and_links_to_all(admin_client):
    ApiTokenFactory.create_batch(6, expiring=True)

    page = admin_client.get(INDEX).content.decode()

    # five tokens and the link to all
    assert page.count('<li><a href="/admin/usergroups/apitoken/') == 6
    link = '<a href="/admin/usergroups/apitoken/?state=expiring">Show all</a> (6)'
    assert link in page


def test_tokens_with_refused_calls_are_listed_the_latest_first(admin_client):
    now = timezone.now()
    for days in (3, 1, 8):
        ApiTokenFactory(
            name=f"Refused {days} days ago",
            revoked=True,
            last_refused_at=now - timedelta(days=days),
        )

    page = admin_client.get(INDEX).content.decode()

    assert "API tokens with refused calls in the last 7 days" in page
    found = re.findall(r"Refused \d days ago", page)
    assert found == ["Refused 1 days ago", "Refused 3 days ago"]


def create_tokens(number):
    """Create access tokens of one user group."""
    user_group = UserGroupFactory()
    tokens = [
        AccessToken(user_group=user_group, **user_group.scope) for _ in range(number)
    ]
    for token in tokens:
        token.assign_secret()
    # PostgreSQL takes at most 65,535 parameters.
    AccessToken.objects.bulk_create(tokens, batch_size=1000)


NOTE = "Only the newest 10,000 are checked."


def test_tokens_are_looked_for_among_the_newest(admin_client):
    token = AccessTokenFactory(unused=True)
    expiring = AccessTokenFactory(expiring=True)
    create_tokens(9_998)

    page = admin_client.get(INDEX).content.decode()

    assert token.hint in page
    assert NOTE not in page

    create_tokens(1)
    page = admin_client.get(INDEX).content.decode()

    assert token.hint not in page
    # An index finds those that expire.
    assert expiring.hint in page
    assert page.count(NOTE) == 1
    assert '<a href="/admin/bookmarks/accesstoken/?state=unused">Show all</a>' in page


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="the plan is that of PostgreSQL"
)
def test_a_panel_reads_a_limited_number_of_tokens(admin_client):
    create_tokens(30_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    statements = queries_of(admin_client.get, INDEX)

    on_tokens = [sql for sql in statements if 'FROM "bookmarks_accesstoken"' in sql]
    # the first of the others, with refused calls, expiring, unused and expiring
    # by week
    assert len(on_tokens) == 5
    for sql in on_tokens:
        nodes = plan_nodes(sql, "ANALYZE, FORMAT JSON")
        scans = [node for node in nodes if node.get("Relation Name") == TABLE]
        read = [
            node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            for node in scans
        ]
        assert scans
        # To find the newest 10,000, PostgreSQL reads the one before them.
        assert sum(read) <= 10_001


def test_the_numbers_are_drawn_as_charts(admin_client):
    now = timezone.now()
    for days in (0, 1, 1, 29, 30):
        BookmarkFactory(created_at=now - timedelta(days=days))
    for days in (1, 6, 8, 70):
        ApiTokenFactory(expires_at=now + timedelta(days=days))
    ApiTokenFactory(expires_at=now + timedelta(days=1), revoked=True)

    panels = admin_client.get(INDEX).context["panels"]

    assert panels["user_groups"] == "5"
    bookmarks, api_tokens, access_tokens = panels["charts"]
    assert [bookmarks.bars[day].number for day in (0, 28, 29)] == ["1", "2", "1"]
    assert (bookmarks.total, len(bookmarks.bars)) == ("4", 30)
    assert [bar.height for bar in bookmarks.bars[27:]] == [0, 60, 30]
    assert (api_tokens.total, len(api_tokens.bars)) == ("3", 8)
    assert [bar.number for bar in api_tokens.bars[:3]] == ["2", "1", "0"]
    assert access_tokens.total == "0"


def test_the_numbers_take_one_or_two_queries_each(admin_client):
    def number_of_queries(table):
        # without those that find out whether there are rows
        return sum(
            f'FROM "{table}"' in sql and not re.search(r"LIMIT 1\b", sql)
            for sql in statements
        )

    statements = queries_of(admin_client.get, INDEX)

    assert number_of_queries("usergroups_usergroup") == 1
    assert number_of_queries("bookmarks_bookmark") == 1  # by day
    # with refused calls, expiring, unused, and expiring by week
    assert number_of_queries("usergroups_apitoken") == 4
    assert number_of_queries("bookmarks_accesstoken") == 4


def test_an_operator_sees_no_number_of_what_they_may_not_view(client):
    client.force_login(User.objects.create_user("operator", is_staff=True))

    panels = client.get(INDEX).context["panels"]

    assert (panels["user_groups"], panels["charts"]) == ("", [])


def test_recent_changes_are_listed(admin_client):
    admin_client.post(reverse("admin:usergroups_team_add"), {"name": "New team"})

    page = admin_client.get(INDEX).content.decode()

    assert re.search(r'Added · 1 team · <a href="[^"]+">New team</a>', page)
    assert '<span class="mini quiet">admin, <time' in page


PANELS = {
    "view_apitoken": "API tokens that expire within 14 days",
    "view_accesstoken": "Access tokens that expire within 14 days",
}


@pytest.mark.parametrize("codename", PANELS)
def test_each_panel_requires_the_view_permission(client, admin_client, codename):
    admin_client.post(reverse("admin:usergroups_team_add"), {"name": "New team"})
    ApiTokenFactory(expiring=True)
    AccessTokenFactory(expiring=True)
    operator = User.objects.create_user("operator", is_staff=True)
    operator.user_permissions.set(Permission.objects.filter(codename=codename))
    client.force_login(operator)

    page = client.get(INDEX).content.decode()

    assert [text for text in PANELS.values() if text in page] == [PANELS[codename]]
    assert "New team" not in page


def test_the_first_steps_are_shown_until_all_are_done(admin_client):
    BookmarkFactory()

    steps = admin_client.get(INDEX).context["panels"]["steps"]

    # Done: a team, a user group and a bookmark. To do: an API token, a call
    # and another account.
    assert [step.done for step in steps] == [True, False, False, True, True, False]
    assert admin_client.get(steps[1].url).status_code == 200

    ApiTokenFactory(last_used_at=timezone.now())
    User.objects.create_user("another")

    assert "First steps" not in admin_client.get(INDEX).content.decode()
