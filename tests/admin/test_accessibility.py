"""axe-core finds no violation on any page, on a desktop in light colors and on
a phone in dark ones, and no page is wider than the screen. Add each new page to
a list.

A test also fails if the browser reports an error, for example because the page
violates its content security policy.
"""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.template.loader import render_to_string
from playwright.sync_api import expect

from tests.admin.browser import LONG_NAMES_PK, needs_chromium, new_context, new_page

pytestmark = [needs_chromium, pytest.mark.database_independent]

GROUP = "/admin/usergroups/usergroup/1/change/"
TOKEN = "/admin/usergroups/apitoken/1/change/"
FIRST_ROW = "#result_list tbody th a"
REVEAL = "button[value=reveal_token]"
SUBMIT = ".submit-row input"
COPY = "[data-copies]"

PAGES = [
    ["/admin/"],
    ["/admin/usergroups/"],
    ["/admin/usergroups/team/"],
    ["/admin/usergroups/team/1/change/"],
    ["/admin/usergroups/team/1/delete/"],
    ["/admin/usergroups/team/add/"],
    ["/admin/usergroups/usergroup/"],
    ["/admin/usergroups/usergroup/?q=nowhere"],
    [GROUP],
    [f"{GROUP}?edit=1"],
    [GROUP, ".menu:last-of-type summary"],
    [GROUP, REVEAL],
    [GROUP, REVEAL, SUBMIT, COPY],
    [GROUP, "button[value=rotate_token]"],
    ["/admin/usergroups/usergroup/add/"],
    ["/admin/usergroups/apitoken/"],
    ["/admin/usergroups/apitoken/?o=2"],
    ["/admin/usergroups/apitoken/2/change/"],
    ["/admin/usergroups/apitoken/2/history/"],
    ["/admin/usergroups/apitoken/add/"],
    [TOKEN, "button[value=revoke]"],
    [TOKEN, "button[value=rotate]"],
    [TOKEN, "button[value=rotate]", SUBMIT, COPY],
    ["/admin/usergroups/event/"],
    ["/admin/bookmarks/accesstoken/"],
    ["/admin/bookmarks/accesstoken/1/change/"],
    ["/admin/bookmarks/accesstoken/add/"],
    ["/admin/bookmarks/collection/"],
    ["/admin/bookmarks/collection/", FIRST_ROW],
    ["/admin/bookmarks/collection/add/"],
    # The first page has a hundred rows, with which axe-core takes seconds.
    ["/admin/bookmarks/bookmark/?p=2"],
    ["/admin/bookmarks/bookmark/?user_group__id__exact=1"],
    ["/admin/bookmarks/bookmark/?user_group__id__exact=1", FIRST_ROW],
    ["/admin/bookmarks/bookmark/add/"],
    ["/admin/bookmarks/bookmark/add/", ".select2-selection"],
    ["/admin/bookmarks/bookmark/import/?user_group=1"],
    ["/admin/auth/user/"],
    ["/admin/auth/user/1/change/"],
    ["/admin/auth/user/1/password/"],
    ["/admin/auth/user/add/"],
    ["/admin/auth/group/"],
    ["/admin/auth/group/1/change/"],
    ["/admin/password_change/"],
]
"""The path of each page of the admin, and selectors of the elements to click
one after the other.
"""

VISITORS = [["/"], ["/admin/login/"], ["/admin/login/", "[type=submit]"]]
"""The same for somebody who is not logged in."""

ERROR_TEMPLATES = [
    "400.html",
    "403.html",
    "403_csrf.html",
    "404.html",
    "500.html",
    "503.html",
    "admin/locked_out.html",
    "admin/sign_in_failed.html",
]


@pytest.fixture(scope="module")
def visitor(browser, service):
    """A page of somebody who is not logged in."""
    with new_context(browser, service) as context, new_page(context) as page:
        yield page


@pytest.fixture(scope="module")
def operator(context):
    """A page of the operator, who is logged in."""
    with new_page(context) as page:
        yield page


def open_page(page, path, *clicks):
    # A phone shows the filters on demand.
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(path)
    for selector in clicks:
        page.locator(selector).first.click()
    page.wait_for_load_state()
    # while Select2 loads the choices
    page.locator(".loading-results").wait_for(state="detached")


@pytest.mark.parametrize("steps", PAGES, ids=" ".join)
def test_a_page_of_the_admin_is_accessible(operator, steps):
    open_page(operator, *steps)

    assert violations(operator) == []


@pytest.mark.parametrize("steps", VISITORS, ids=" ".join)
def test_a_page_without_login_is_accessible(visitor, steps):
    open_page(visitor, *steps)

    assert violations(visitor) == []


def test_a_refused_form_is_accessible(operator):
    operator.goto("/admin/usergroups/apitoken/add/")
    # The script of the form sends it only when it has checked the session.
    with operator.expect_navigation():
        operator.locator("input[name=_save]").click()

    assert violations(operator) == []


@pytest.mark.parametrize("text", ["c", "nothing"], ids=["many rows", "no row"])
def test_the_results_of_find_are_accessible(operator, text):
    operator.goto("/admin/")
    operator.get_by_role("searchbox", name="Find").fill(text)
    operator.keyboard.press("Enter")
    # the text in quotation marks, above the results
    operator.get_by_text("“").first.wait_for()

    assert violations(operator) == []


def test_the_reports_of_a_file_are_accessible(operator):
    content = b"url,collection\nhttps://example.com/new,New\nnone,\n"
    file = {"name": "a.csv", "mimeType": "text/csv", "buffer": content}
    operator.goto("/admin/bookmarks/bookmark/import/?user_group=1")
    operator.locator("#id_file").set_input_files(file)
    for button, heading in (
        ("Check the file", "nothing has been imported yet"),
        ("Import bookmarks", "Bookmarks imported"),
    ):
        operator.get_by_role("button", name=button).click()
        operator.get_by_role("heading", name=heading).wait_for()

        assert violations(operator) == []


@pytest.mark.parametrize(
    ("path", "action", "next_button"),
    [
        ("usergroups/apitoken/?q=CI", "Rotate selected API tokens", "Rotate"),
        # 21 rows, of which the page shows 20 at once
        (
            "bookmarks/bookmark/?user_group__id__exact=1",
            "Delete selected bookmarks",
            None,
        ),
    ],
    ids=["secrets of several tokens", "confirmation of a deletion"],
)
def test_an_action_on_a_list_is_accessible(operator, path, action, next_button):
    open_page(operator, f"/admin/{path}")
    operator.locator("#action-toggle").check()
    operator.get_by_label("Action:").select_option(action)
    operator.locator(".actions button[name=index]").click()
    if next_button:
        operator.get_by_role("button", name=next_button).click()
        operator.locator(COPY).first.wait_for()
    operator.locator("#result_list").wait_for(state="detached")

    assert violations(operator) == []


@pytest.mark.parametrize("template", ERROR_TEMPLATES)
def test_an_error_page_is_accessible(visitor, template):
    texts = {"title": "Sign-in failed", "message": "The provider refused."}
    html = render_to_string(template, {"failure_limit": 10, **texts})
    visitor.route(
        "**/error/", lambda route: route.fulfill(content_type="text/html", body=html)
    )
    visitor.goto("/error/")

    assert violations(visitor) == []


RUN = """
async options => {
  // Finish the animations of colors that a change of the color scheme starts, so that axe-core sees the final colors.
  for (const animation of document.getAnimations()) animation.finish();
  const { violations } = await axe.run(options);
  return violations.flatMap(({ id, impact, nodes }) => nodes
    // Select2 adds its list to the end of the page, outside of the landmarks.
    .filter(({ target }) => !(id === "region" && document.querySelector(target[0]).matches(".select2-container--open")))
    .map(({ target, failureSummary }) => {
      const why = failureSummary.split("\\n").pop().trim();
      return `${innerWidth} px: ${id} (${impact}): ${target.join(" ")}: ${why}`;
    }));
}
"""
OPTIONS = {
    "resultTypes": ["violations"],
    "preload": False,  # True would load the style sheets again.
    # a rule of WCAG 2.2, which is off by default
    "rules": {"target-size": {"enabled": True}},
}
# what depends on the colors or on the width
PHONE_RULES = ["color-contrast", "link-in-text-block", "target-size", "region"]


def violations(page):
    """Return the violations on the page in its present state, on a desktop in
    light colors and on a phone in dark ones.

    A page that is wider than the screen is a violation, too.
    """
    page.evaluate(AXE_SCRIPT)
    found = []
    for width, scheme, options in (
        (1440, "light", OPTIONS),
        (1024, "light", None),
        (360, "dark", {**OPTIONS, "runOnly": PHONE_RULES}),
    ):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        # Select2 moves its open list when the window is resized, which the
        # browser announces before the next frame.
        page.evaluate(
            "new Promise(done => requestAnimationFrame(() => "
            "requestAnimationFrame(done)))"
        )
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{width} px: wider than the screen")
        if options:
            found += page.evaluate(RUN, options)
    return found


# Lists with long names


def box(page, selector):
    return page.locator(selector).first.bounding_box()


NUMBER_OF_LINES = """
cell => { const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length }
"""
OVERFLOWING = (
    "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => "
    "cell.className)"
)


def test_ids_and_dates_are_on_one_line(page):
    page.goto("/admin/usergroups/usergroup/?q=Consolidated")
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        for column in ("provided_id", "environment_badge .badge", "updated_at"):
            cell = page.locator(f"#result_list .field-{column}").first
            assert cell.evaluate(NUMBER_OF_LINES) == 1, column


def test_a_screen_shows_20_rows_and_long_urls_are_cut(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/admin/usergroups/usergroup/?q=customer-1")
    last = box(page, "#result_list tbody tr:nth-child(20)")
    assert last["y"] + last["height"] <= 900

    page.goto(f"/admin/bookmarks/bookmark/?user_group__id__exact={LONG_NAMES_PK}")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        # two lines
        assert box(page, "#result_list th a")["height"] <= 50


def test_a_long_id_without_hyphens_is_not_cut_off_on_the_page_of_its_object(page):
    page.goto(f"/admin/usergroups/usergroup/{LONG_NAMES_PK}/change/?edit=1")
    shown = page.locator(".field-provided_id .readonly")
    shown.evaluate("element => { element.textContent = 'x'.repeat(200) }")
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        assert shown.evaluate_all(OVERFLOWING) == []


HEADINGS = """cells => cells.map(cell => [cell.dataset.column, getComputedStyle(cell, "::before").content])"""
"""Returns the heading that each cell of a row should have on a phone, and the
one that CSS shows.
"""


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        ("usergroups/usergroup", 6),
        ("usergroups/apitoken", 7),
        ("bookmarks/accesstoken", 7),
        ("bookmarks/collection", 4),
        ("bookmarks/bookmark", 6),
    ],
)
def test_a_phone_shows_rows_as_cards_below_the_filters(page, model, columns):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/admin/{model}/")
    expect(page.locator("#searchbar")).to_be_in_viewport()
    expect(page.locator("#filters")).to_be_in_viewport()
    # The first row begins on the first screen.
    assert box(page, "#result_list tbody tr")["y"] < 300
    # The navigation has no entry for collections.
    if model != "bookmarks/collection":
        current = page.locator("#lists [aria-current]")
        expect(current).to_be_in_viewport(ratio=1)

    # The cells of a row are below each other, each with the heading of its
    # column.
    cells = page.locator(
        "#result_list tbody tr:first-child [data-column]:not([data-column=''])"
    )
    headings = cells.evaluate_all(HEADINGS)
    assert len(headings) == columns
    for heading, content in headings:
        assert content == f'"{heading}"'
    assert cells.evaluate_all(OVERFLOWING) == []
    row = box(page, "#result_list tbody tr")
    first_cell = box(page, "#result_list tbody th")
    assert row["height"] > 2 * first_cell["height"]
