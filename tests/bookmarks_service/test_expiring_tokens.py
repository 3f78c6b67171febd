"""The page that lists the tokens of both kinds that expire soon."""

import csv
from datetime import timedelta
from io import StringIO

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from tests.admin.actions import log_in_with
from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import plan_nodes, queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, store_tokens
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db

PAGE = reverse("admin:expiring_tokens")


def in_days(days):
    return timezone.now() + timedelta(days=days, hours=-1)


@pytest.fixture
def tokens():
    """Return four active tokens, of which the first expires first."""
    ApiTokenFactory(expires_at=in_days(1), revoked=True)
    ApiTokenFactory(expired=True)
    ApiTokenFactory()
    return [
        AccessTokenFactory(name="A", expires_at=in_days(7)),
        ApiTokenFactory(name="B", expires_at=in_days(30), rotated=True),
        AccessTokenFactory(name="C", expires_at=in_days(90)),
        ApiTokenFactory(name="D", expires_at=in_days(91)),
    ]


@pytest.mark.parametrize(("days", "number"), [(7, 1), (30, 2), (90, 3)])
def test_the_tokens_that_expire_within_some_days_are_listed(
    admin_client, tokens, days, number
):
    rows = admin_client.get(PAGE, {"days": days}).context["rows"]

    assert [row.kind for row in rows] == ["Access token", "API token", "Access token"][
        :number
    ]
    for row, token in zip(rows, tokens[:number], strict=True):
        assert str(token) in row.token
        assert str(token.owner) in row.owner


def test_30_days_are_the_default_and_other_numbers_are_refused(admin_client, tokens):
    assert len(admin_client.get(PAGE).context["rows"]) == 2
    assert admin_client.get(PAGE, {"days": "31"}).status_code == 400


def test_the_list_is_a_csv_file_too(admin_client, tokens):
    plain = admin_client.get(PAGE, {"days": 7, "csv": 1})
    excel = admin_client.get(PAGE, {"days": 7, "csv": 1, "excel": 1})

    [token, *_others] = tokens
    _header, row = csv.reader(StringIO(plain.content.decode()))
    assert row == [
        "access token",
        str(token.pk),
        str(token.owner),
        f"A {token.hint}…",
        "Expiring soon",
        token.expires_at.isoformat(),
        "Never",
    ]
    assert excel.content.decode() == f"\ufeff{plain.content.decode()}"
    date = timezone.now().date().isoformat()
    assert plain["Content-Disposition"] == (
        f'attachment; filename="expiring-tokens-{date}.csv"'
    )


def test_the_navigation_links_to_the_list_if_the_user_may_view_tokens(client, tokens):
    log_in_with(client, "view_apitoken")
    page = client.get(PAGE, {"days": 90})
    assert [row.kind for row in page.context["rows"]] == ["API token"]
    assert f'<a href="{PAGE}" aria-current="page">' in page.content.decode()

    log_in_with(client, "view_team")
    assert client.get(PAGE).status_code == 403
    assert PAGE not in client.get(reverse("admin:index")).content.decode()


def test_500_tokens_are_listed_and_one_more_of_each_kind_is_read(admin_client):
    team = TeamFactory()
    store_tokens(ApiToken, 501, team=team, expires_at=in_days(1))

    page = admin_client.get(PAGE)

    assert len(page.context["rows"]) == 500
    assert "Only the first 500 are listed." in page.content.decode()


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="the plan is that of PostgreSQL"
)
def test_an_index_finds_the_tokens_that_expire_or_were_refused(admin_client):
    team = TeamFactory()
    store_tokens(ApiToken, 5_000, team=team, expires_at=in_days(200))
    store_tokens(ApiToken, 20, team=team, expires_at=in_days(3))
    ApiTokenFactory(revoked=True, last_refused_at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    statements = [*queries_of(admin_client.get, PAGE)]
    index = queries_of(admin_client.get, reverse("admin:index"))
    statements += [sql for sql in index if '"last_refused_at" >=' in sql]

    used = set()
    for sql in statements:
        if 'FROM "usergroups_apitoken"' in sql:
            used |= {node.get("Index Name") for node in plan_nodes(sql)}
    assert {"usergroups_tokens_by_expiry", "usergroups_refused_tokens"} <= used
