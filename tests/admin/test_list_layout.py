"""The layout of the lists in Debian's Chromium, with long names, on a desktop, a tablet and a phone."""

import pytest
from playwright.sync_api import expect

from tests.admin.browser import needs_chromium, new_page

pytestmark = [needs_chromium, pytest.mark.once]

FILL = """
from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.models import ApiToken, Team, UserGroup

team = Team.objects.create(name="International Reporting and Business Intelligence Operations")
group = UserGroup.objects.create(
    team=team, environment="Customer", provided_id="4c2f1d0e-9d0b-5a43-8f7a-0d7f3f6f2c11",
    name="Consolidated Amalgamated Holdings of Northern Europe GmbH 1",
)
name = "Nightly synchronisation of the customer relationship database"
for model, owner in ((ApiToken, {"team": team}), (AccessToken, {"user_group": group})):
    for number in range(3):
        model.objects.issue(**owner, name=name)
collection = Collection.objects.create(user_group=group, name="Quarterly regulatory reporting references, guidelines")
path = "very-long-path-segment/" * 8
Bookmark.objects.bulk_create(
    Bookmark(user_group=group, collection=collection, title="Quarterly revenue by region " * 5,
             url=f"https://reports.example.com/dashboards/{path}?{number}")
    for number in range(120)
)
print(f"{team.pk},{group.pk}", end="")
"""

COLUMNS = {
    "usergroups/usergroup": ["name", "provided_id", "team_link", "environment_badge", "updated"],
    "usergroups/apitoken": [
        "name_and_hint", "team_link", "environment_badge", "badge", "access", "expires", "last_used"
    ],
    "bookmarks/accesstoken": [
        "name_and_hint", "user_group_link", "team_link", "badge", "access", "expires", "last_used"
    ],
    "bookmarks/collection": ["name", "user_group_link", "team_link", "created"],
    "bookmarks/bookmark": [
        "url", "title", "user_group_link", "team_link", "in_collection", "created"
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def long_names(service):
    """Add rows with long names. Return the keys of their team and of their user group."""
    result = service.manage("shell", "--no-imports", "-c", FILL)
    assert result.returncode == 0, result.stderr
    return result.stdout.split(",")


@pytest.fixture(params=[(1440, "light"), (1024, "dark")], ids=["desktop", "tablet"])
def wide_page(page, long_names, request):
    width, scheme = request.param
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    return page


@pytest.fixture
def phone(browser, service, session, long_names):
    viewport = {"width": 390, "height": 844}
    with new_page(browser, service, storage_state=session, viewport=viewport, color_scheme="dark") as page:
        yield page


def box(page, selector):
    return page.locator(selector).first.bounding_box()


def right_edge(page, selector):
    found = box(page, selector)
    return found["x"] + found["width"]


def test_a_chosen_filter_does_not_change_the_layout(wide_page, long_names):
    team, group = long_names
    for model, query in (
        ("usergroups/apitoken", f"team__id__exact={team}"),
        ("bookmarks/accesstoken", f"user_group__id__exact={group}"),
        ("bookmarks/bookmark", f"user_group__id__exact={group}&user_group__team__id__exact={team}"),
    ):
        layouts = []
        for suffix in ("", f"?{query}"):
            wide_page.goto(f"/admin/{model}/{suffix}")
            expect(wide_page.locator("#filters .select2").first).to_be_visible()
            boxes = [box(wide_page, selector) for selector in (".results", "#filters", "#toolbar")]
            layouts.append([(each["x"], each["width"]) for each in boxes])
        assert layouts[0] == layouts[1], model


def test_the_columns_fit_the_screen(wide_page):
    for model, columns in COLUMNS.items():
        wide_page.goto(f"/admin/{model}/")
        edge = right_edge(wide_page, ".results")
        assert edge <= wide_page.viewport_size["width"]
        for column in columns:
            assert right_edge(wide_page, f"#result_list .column-{column}") <= edge, (model, column)
        scrolls = "element => element.scrollWidth > element.clientWidth"
        assert not wide_page.locator(".results").evaluate(scrolls), model
        # The table is as wide as the page, and the filters are above it.
        assert box(wide_page, ".results")["width"] > wide_page.viewport_size["width"] - 100
        assert box(wide_page, "#filters")["y"] < box(wide_page, ".results")["y"]


LINES = """
cell => { const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length }
"""


def test_ids_and_dates_are_on_one_line(wide_page):
    wide_page.goto("/admin/usergroups/usergroup/?q=Consolidated")
    for column in ("provided_id", "environment_badge .badge", "updated time"):
        assert wide_page.locator(f"#result_list .field-{column}").first.evaluate(LINES) == 1, column
    expect(wide_page.locator("#result_list .badge")).to_have_text("Customer")


HEADINGS = """cells => cells.map(cell => [cell.dataset.column, getComputedStyle(cell, "::before").content])"""


def test_a_phone_shows_rows_as_cards_below_the_filters(phone):
    for model, columns in COLUMNS.items():
        phone.goto(f"/admin/{model}/")
        assert phone.evaluate("document.documentElement.scrollWidth") == 390
        expect(phone.locator("#searchbar")).to_be_in_viewport()
        expect(phone.locator("#filters")).to_be_in_viewport()
        assert box(phone, "#filters")["y"] < box(phone, "#result_list")["y"]

        # The cells of a row are below each other, each with the heading of its column.
        cells = phone.locator("#result_list tbody tr:first-child [data-column]:not([data-column=''])")
        headings = cells.evaluate_all(HEADINGS)
        assert len(headings) == len(columns)
        assert all(heading and content == f'"{heading}"' for heading, content in headings)
        assert box(phone, "#result_list tbody tr")["height"] > 2 * box(phone, "#result_list tbody th")["height"]
