"""The admin's first page."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from bookmarks.models import AccessToken
from tests.admin.actions import log_in_with
from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import plan_nodes, queries_of
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory, store_tokens
from usergroups.events import Event, Kind

pytestmark = pytest.mark.django_db

INDEX = reverse("admin:index")


def lines_on(client):
    """Return the lines of what needs somebody, without markup."""
    lines = client.get(INDEX).context["lines"]
    return [re.sub(r"<[^>]+>", "", " · ".join(line)) for line in lines]


def test_what_needs_somebody_is_one_list(admin_client):
    now = timezone.now()
    refused = [
        ApiTokenFactory(
            revoked=True,
            refused_minutes=minutes,
            first_refused_at=now,
            last_refused_at=now - timedelta(days=days),
        )
        for minutes, days in ((5, 1), (1784, 6), (9, 8))
    ]
    expiring = AccessTokenFactory(expires_at=now + timedelta(days=10))
    ApiTokenFactory(expires_at=now + timedelta(days=20))
    ApiTokenFactory(unused=True)
    user_group = UserGroupFactory()
    for lines, days in (("1,x", 0), ("", 0), ("1,x", 8)):
        Event.objects.create(
            kind=Kind.IMPORTED,
            user_group=user_group,
            model="bookmarks.bookmark",
            at=now - timedelta(days=days),
            counts={"refused": 2},
            text="a.html",
            refused_lines=lines,
        )

    lines = lines_on(admin_client)

    assert [line.partition(" · ")[0] for line in lines] == [
        str(refused[1]),
        str(refused[0]),
        str(expiring),
        str(user_group),
    ]
    assert "Calls refused in 1,784 minutes since" in lines[0]
    assert f" · {expiring.owner} · Expires in 10 days." in lines[2]
    assert lines[3].endswith(
        "Imported · refused: 2 · a.html · Refused lines as CSV, just now"
    )


def test_a_quiet_day_and_recent_changes(admin_client):
    admin_client.post(reverse("admin:usergroups_team_add"), {"name": "New team"})

    page = admin_client.get(INDEX).content.decode()

    assert "<li>Nothing.</li>" in page
    assert re.search(r'<a href="[^"]+">New team</a>', page)


def test_five_tokens_of_a_state_are_listed_with_a_link_to_all(admin_client):
    ApiTokenFactory.create_batch(6, expiring=True)

    page = admin_client.get(INDEX).content.decode()

    assert page.count("Expires <time") == 5
    link = '<a href="/admin/usergroups/apitoken/?state=expiring">API tokens: 6</a>'
    assert link in page


@pytest.mark.parametrize("model", ["apitoken", "accesstoken"])
def test_each_line_requires_the_view_permission(client, model):
    tokens = {
        "apitoken": ApiTokenFactory(expiring=True),
        "accesstoken": AccessTokenFactory(expiring=True),
    }
    log_in_with(client, f"view_{model}")

    [line] = lines_on(client)

    assert line.startswith(str(tokens[model]))


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="the plan is that of PostgreSQL"
)
def test_the_page_reads_a_limited_number_of_tokens(admin_client):
    user_group = UserGroupFactory()
    store_tokens(AccessToken, 30_000, user_group=user_group, **user_group.scope)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    statements = queries_of(admin_client.get, INDEX)

    on_tokens = [sql for sql in statements if 'FROM "bookmarks_accesstoken"' in sql]
    assert len(on_tokens) == 2  # with refused calls, and expiring
    for sql in on_tokens:
        nodes = plan_nodes(sql, "ANALYZE, FORMAT JSON")
        table = AccessToken._meta.db_table
        scans = [node for node in nodes if node.get("Relation Name") == table]
        assert scans
        read = [
            node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            for node in scans
        ]
        assert sum(read) <= 10_001
