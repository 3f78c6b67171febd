"""What the page of a user group or team says about its tokens."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import override

from tests.admin.actions import act, url
from tests.admin.german import GERMAN
from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, store_tokens
from usergroups.models import ApiToken
from usergroups.tokens.owner_summary import day_of

pytestmark = pytest.mark.django_db


def summary_on(client, owner):
    """Return the text of the summary on the page of a user group or team."""
    model = f"usergroups_{owner._meta.model_name}"
    page = client.get(url(f"{model}_change", owner.pk)).content.decode()
    [summary] = re.findall(r'<p class="summary">(.*?)</p>', page) or [""]
    return " ".join(re.sub(r"<[^>]+>", "", summary).split())


def test_the_page_of_a_user_group_explains_refused_calls(
    admin_client, user_group, api_client
):
    now = timezone.now()
    AccessTokenFactory(user_group=user_group)
    AccessTokenFactory(
        user_group=user_group,
        last_used_at=now - timedelta(hours=2),
        last_used_address="192.0.2.7",
    )
    revoked = [AccessTokenFactory(user_group=user_group) for _ in range(2)]
    act(admin_client, "bookmarks_accesstoken", "revoke", *revoked)
    since = now - timedelta(days=3)
    expired = AccessTokenFactory(
        user_group=user_group,
        name="Extension",
        expires_at=now - timedelta(days=1),
        refused_minutes=13,
        first_refused_at=since,
        last_refused_at=now - timedelta(minutes=3),
    )
    authorization = f"Bearer {expired.secret}"
    refused = api_client.get("/v1/token", HTTP_AUTHORIZATION=authorization)

    assert refused.status_code == 401
    assert summary_on(admin_client, user_group) == (
        "2 active, 1 expired yesterday, 2 revoked, the last by admin today; "
        "last used 2 hours ago from 192.0.2.7. "
        f"{expired}: Calls refused in 14 minutes since {date_format(since, 'l')}, "
        f"{date_format(since, 'DATE_FORMAT')} (token expired), the last just now."
    )


def test_the_days_are_named_in_german():
    now = timezone.now()

    with override("de"):
        days = [day_of(now - timedelta(days=number)) for number in range(3)]
        before = date_format(now - timedelta(days=2))

    assert days == ["heute", "gestern", before]


def test_the_page_of_a_team_summarizes_its_api_tokens(admin_client):
    team = TeamFactory()
    assert summary_on(admin_client, team) == ""

    revoked = ApiTokenFactory(team=team)
    revoked.revoke()
    ApiTokenFactory.create_batch(2, team=team, expired=True)

    today = "today"
    if (timezone.now() - timedelta(hours=1)).date() != timezone.now().date():
        today = "yesterday"
    assert summary_on(admin_client, team) == (
        f"0 active, 2 expired, the last {today}, 1 revoked today; never used."
    )


def test_the_day_in_the_summary_is_german(admin_client, user_group):
    AccessTokenFactory(user_group=user_group, expired=True)
    at = timezone.now() - timedelta(days=1)
    user_group.access_tokens.update(expires_at=at)
    admin_client.defaults |= GERMAN

    assert summary_on(admin_client, user_group) == (
        "0 aktiv, 1 abgelaufen (gestern); nie verwendet."
    )


def test_three_tokens_with_refused_calls_are_named_the_latest_first(admin_client):
    team = TeamFactory()
    now = timezone.now()
    for hours in (1, 3, 2, 4):
        ApiTokenFactory(
            team=team,
            name=f"Token {hours}",
            revoked=True,
            refused_minutes=1,
            first_refused_at=now,
            last_refused_at=now - timedelta(hours=hours),
        )

    summary = summary_on(admin_client, team)

    assert re.findall(r"Token \d", summary) == ["Token 1", "Token 2", "Token 3"]
    assert "Calls refused in 1 minute since" in summary
    assert "(token revoked), the last 2 hours ago" in summary


def test_the_newest_1000_tokens_are_summarized_with_one_query(admin_client):
    token = ApiTokenFactory(expired=True)
    store_tokens(ApiToken, 1_000, team=token.team)
    page = url("usergroups_team_change", token.team_id)

    statements = queries_of(admin_client.get, page)

    assert summary_on(admin_client, token.team) == (
        "Of the newest 1,000: 1,000 active; never used."
    )
    reads = [sql for sql in statements if '"refused_minutes"' in sql]
    assert len(reads) == 1
    assert "LIMIT 1001" in reads[0]
