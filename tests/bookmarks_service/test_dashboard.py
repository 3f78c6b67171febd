"""The admin's first page."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from bookmarks.time_ordered_ids import first_id
from bookmarks_service.bar_chart import BarChart
from bookmarks_service.dashboard import created_per_day
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.admin_tools import lists

pytestmark = pytest.mark.django_db

INDEX = reverse("admin:index")
TODAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("added_at", "day"),
    [
        (TODAY, 29),
        (TODAY + timedelta(days=1, milliseconds=-1), 29),
        (TODAY - timedelta(milliseconds=1), 28),
        (TODAY - timedelta(days=29), 0),
    ],
)
def test_a_bookmark_is_counted_on_the_day_on_which_it_was_added(added_at, day):
    BookmarkFactory(pk=first_id(added_at), created_at=TODAY - timedelta(days=10))

    counts = created_per_day(TODAY.date())

    assert [number for number, (_, count) in enumerate(counts) if count] == [day]
    assert counts[day] == (added_at.date(), 1)


@pytest.mark.parametrize("added_at", [TODAY + timedelta(days=1), TODAY - timedelta(days=29, milliseconds=1)])
def test_bookmarks_of_other_days_are_not_counted(added_at):
    BookmarkFactory(pk=first_id(added_at), created_at=TODAY)

    assert {count for _, count in created_per_day(TODAY.date())} == {0}


def test_thirty_days_are_one_query(django_assert_num_queries):
    for minutes in range(3):
        BookmarkFactory(pk=first_id(TODAY + timedelta(minutes=minutes)))

    with django_assert_num_queries(1):
        assert created_per_day(TODAY.date())[-1] == (TODAY.date(), 3)


def test_the_plot_has_an_axis_for_all_bars():
    plot = BarChart([(TODAY.date() + timedelta(days=n), count) for n, count in enumerate((0, 5, 9))])

    assert [(bar["y"], bar["height"]) for bar in plot.bars] == [
        ("100.00%", "0.00%"),
        ("50.00%", "50.00%"),
        ("10.00%", "90.00%"),
    ]
    assert [bar["anchor"] for bar in plot.bars] == ["start", "middle", "end"]
    assert plot.axis == ["10", "5", "0"]
    assert plot.dates == [TODAY.date(), TODAY.date() + timedelta(days=1), TODAY.date() + timedelta(days=2)]
    assert (plot.total, plot.maximum) == ("14", "9")


def test_the_figures_can_be_read_without_the_plot(admin_client):
    BookmarkFactory.create_batch(3)

    page = admin_client.get(INDEX).content.decode()

    today = date_format(timezone.now())
    day = date_format(timezone.now(), "MONTH_DAY_FORMAT")
    assert 'role="group" aria-labelledby="created-caption"' in page
    assert f"3 in the 30 days to {today} (UTC), at most 3 per day." in page
    assert f'<th scope="row">{today}</th><td>3</td>' in page
    assert f'role="img" tabindex="0" aria-label="{day}: 3"' in page
    assert len(re.findall(r'<rect class="bar"', page)) == 30


def test_a_sentence_replaces_an_empty_plot(admin_client):
    page = admin_client.get(INDEX).content.decode()

    assert "No bookmarks were added in the 30 days to" in page
    assert "<rect" not in page


def test_tokens_that_need_attention_are_listed(admin_client):
    expiring, unused = ApiTokenFactory(expiring=True), AccessTokenFactory(unused=True)
    others = [ApiTokenFactory(), ApiTokenFactory(expired=True), AccessTokenFactory(unused=True, revoked=True)]

    page = admin_client.get(INDEX).content.decode()

    for token in (expiring, unused):
        assert re.search(rf'<a href="[^"]+">{token}</a></th><td>{re.escape(str(token.owner))}</td>', page)
    for token in others:
        assert token.hint not in page
    assert "state=expiring" not in page


def test_a_table_of_tokens_shows_five_and_links_to_all(admin_client):
    ApiTokenFactory.create_batch(6, expiring=True)

    page = admin_client.get(INDEX).content.decode()

    assert page.count('<tr><th scope="row"><a href="/admin/usergroups/apitoken/') == 5
    assert '<a href="/admin/usergroups/apitoken/?state=expiring">All 6</a>' in page


def test_tokens_are_counted_up_to_a_limit(admin_client, monkeypatch):
    ApiTokenFactory.create_batch(8, unused=True)
    monkeypatch.setattr(lists, "MAX_LISTED", 7)

    assert ">All 7+</a>" in admin_client.get(INDEX).content.decode()


def test_the_parts_of_the_page_are_in_the_order_of_their_use(admin_client):
    ApiTokenFactory(expiring=True)
    BookmarkFactory()

    page = admin_client.get(INDEX).content.decode()

    parts = ['id="find-text"', 'id="navigation"', ">API tokens</a>", ">Bookmarks</a>", ">Users</a>",
             "that need attention", "Newest user groups", "Recent changes", "Bookmarks added per day"]  # fmt: skip
    assert sorted(parts, key=page.index) == parts


def test_newest_groups_and_recent_changes_are_listed(admin_client):
    UserGroupFactory(name="Newest")
    admin_client.post(reverse("admin:usergroups_team_add"), {"name": "New team"})

    page = admin_client.get(INDEX).content.decode()

    assert "Newest (" in page
    assert "New team" in page
    assert "By admin," in page


PANELS = {
    "view_bookmark": "Bookmarks added per day",
    "view_usergroup": "Newest user groups",
    "view_apitoken": "API tokens that need attention",
    "view_accesstoken": "Access tokens that need attention",
}


@pytest.mark.parametrize("codename", PANELS)
def test_each_panel_requires_the_view_permission(client, admin_client, codename):
    admin_client.post(reverse("admin:usergroups_team_add"), {"name": "New team"})
    operator = User.objects.create_user("operator", is_staff=True)
    operator.user_permissions.set(Permission.objects.filter(codename=codename))
    client.force_login(operator)

    page = client.get(INDEX).content.decode()

    assert [text for text in PANELS.values() if text in page] == [PANELS[codename]]
    assert "New team" not in page
