"""The layout of the lists in Debian's Chromium, with long names, on a desktop,
a tablet and a phone.
"""

import pytest
from playwright.sync_api import expect

from tests.admin.browser import LONG_NAMES_PK, needs_chromium

pytestmark = [needs_chromium, pytest.mark.database_independent]

COLUMNS = {
    "usergroups/usergroup": [
        "name",
        "provided_id",
        "team_link",
        "environment_badge",
        "updated_at",
        "last_use",
    ],
    "usergroups/apitoken": [
        "name_and_hint",
        "team_link",
        "environment_badge",
        "badge",
        "access",
        "expires",
        "last_used",
    ],
    "bookmarks/accesstoken": [
        "name_and_hint",
        "user_group_link",
        "team_link",
        "badge",
        "access",
        "expires",
        "last_used",
    ],
    "bookmarks/collection": ["name", "user_group_link", "team_link", "created_at"],
    "bookmarks/bookmark": [
        "url",
        "title",
        "user_group_link",
        "team_link",
        "in_collection",
        "created_at",
    ],
}


SCREENS = {1440: "light", 1024: "dark"}
"""The color schemes of a desktop and a tablet, by their widths."""


def screens(page):
    """Show the page on each screen in turn, and yield the width."""
    for width, scheme in SCREENS.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        yield width


def box(page, selector):
    return page.locator(selector).first.bounding_box()


def right_edge(page, selector):
    found = box(page, selector)
    return found["x"] + found["width"]


def bottom_edge(page, selector):
    found = box(page, selector)
    return found["y"] + found["height"]


NUMBER_OF_LINES = """
cell => { const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length }
"""


def test_ids_and_dates_are_on_one_line(page):
    page.goto("/admin/usergroups/usergroup/?q=Consolidated")
    for _ in screens(page):
        for column in ("provided_id", "environment_badge .badge", "updated_at"):
            assert (
                page.locator(f"#result_list .field-{column}").first.evaluate(
                    NUMBER_OF_LINES
                )
                == 1
            ), column
    expect(page.locator("#result_list .badge")).to_have_text("Customer")


def test_a_screen_shows_20_rows_and_long_urls_are_cut(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/admin/usergroups/usergroup/?q=customer-1")
    assert bottom_edge(page, "#result_list tbody tr:nth-child(20)") <= 900

    page.goto(f"/admin/bookmarks/bookmark/?user_group__id__exact={LONG_NAMES_PK}")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        # two lines
        assert box(page, "#result_list th a")["height"] <= 50


HEADINGS = """cells => cells.map(cell => [cell.dataset.column, getComputedStyle(cell, "::before").content])"""
"""Returns the heading that each cell of a row should have on a phone, and the
one that CSS shows.
"""

OVERFLOWING = (
    "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => "
    "cell.className)"
)


def test_a_long_id_without_hyphens_is_not_cut_off_on_the_page_of_its_object(page):
    page.goto(f"/admin/usergroups/usergroup/{LONG_NAMES_PK}/change/?edit=1")
    shown = page.locator(".field-provided_id .readonly")
    shown.evaluate("element => { element.textContent = 'x'.repeat(200) }")
    for _ in screens(page):
        assert shown.evaluate_all(OVERFLOWING) == []


def test_a_phone_shows_rows_as_cards_below_the_filters(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    for model, columns in COLUMNS.items():
        page.goto(f"/admin/{model}/")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        expect(page.locator("#searchbar")).to_be_in_viewport()
        expect(page.locator("#filters")).to_be_in_viewport()
        # The first row begins on the first screen, and the navigation shows the
        # current list.
        assert box(page, "#result_list tbody tr")["y"] < 300
        current = page.locator("#lists [aria-current]")
        if model != "bookmarks/collection":
            expect(current).to_be_in_viewport(ratio=1)

        # The cells of a row are below each other, each with the heading of its
        # column.
        cells = page.locator(
            "#result_list tbody tr:first-child [data-column]:not([data-column=''])"
        )
        headings = cells.evaluate_all(HEADINGS)
        assert len(headings) == len(columns)
        assert all(
            heading and content == f'"{heading}"' for heading, content in headings
        )
        assert cells.evaluate_all(OVERFLOWING) == [], model
        assert (
            box(page, "#result_list tbody tr")["height"]
            > 2 * box(page, "#result_list tbody th")["height"]
        )
