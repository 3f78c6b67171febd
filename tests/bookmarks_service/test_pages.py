"""The start page, the error pages and the colors of /docs/ in Debian's Chromium."""

import re

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import expect

from tests.admin.browser import TIMEOUT, browser, log_in, needs_chromium, new_page  # noqa: F401

pytestmark = [needs_chromium, pytest.mark.once]

RENDERED = ["403.html", "413.html", "500.html", "503.html", "admin/locked_out.html"]

BACKGROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 18, 18)"}

CONTRASTS = """
() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = (color) => numbers(color).slice(0, 3).map((value) => value / 255)
    .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const background = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return numbers(color)[3] === 0 ? background(element.parentElement) : color;
  };
  return [...document.querySelectorAll("h1, p, a, button")].map((element) => {
    const pair = [getComputedStyle(element).color, background(element)].map(luminance).sort();
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  });
}
"""


@pytest.fixture(scope="module")
def context(browser, service):  # noqa: F811
    """An operator is logged in. Some pages, such as that of a server error, are rendered here in place of the service.

    They get their style sheets and scripts from the service.
    """
    context = browser.new_context(base_url=service.base_url, viewport={"width": 390, "height": 800})
    context.set_default_timeout(TIMEOUT)
    context.route(
        re.compile("/rendered/"),
        lambda route: route.fulfill(
            status=500,
            content_type="text/html",
            headers={
                "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'"
            },
            body=render_to_string(route.request.url.partition("/rendered/")[2], {"failure_limit": 10}),
        ),
    )
    log_in(context.new_page(), service.password)
    yield context
    context.close()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_readable_in_both_color_schemes(context, scheme, width):
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    errors = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))

    for path in ("/", "/admin/unknown/", "/admin/autocomplete/?term=%00", *(f"/rendered/{name}" for name in RENDERED)):
        page.goto(path)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == BACKGROUNDS[scheme], path
        assert min(page.evaluate(CONTRASTS)) >= 4.5, path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path

    # Chromium itself reports the status.
    assert [text for text in errors if "the server responded with a status of" not in text] == []


def test_an_error_page_leads_back(context):
    page = context.new_page()
    page.goto("/admin/usergroups/team/add/")
    page.get_by_label("Name").fill("Not saved yet")
    page.goto("/admin/unknown/")
    page.get_by_role("button", name="Go back").click()
    expect(page.get_by_label("Name")).to_have_value("Not saved yet")

    page.goto("/admin/unknown/")
    page.get_by_role("link", name="Administration").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_the_theme_that_was_chosen_in_the_admin_applies_to_all_pages(context):
    page = context.new_page()
    page.emulate_media(color_scheme="light")
    page.goto("/admin/")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    for path in ("/", "/admin/unknown/"):
        page.goto(path)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == BACKGROUNDS["dark"], path
    page.goto("/docs/")
    expect(page.locator("html")).to_have_class("dark-mode")
    page.evaluate("localStorage.removeItem('theme')")


def test_the_documentation_follows_the_color_scheme_and_leads_back(browser, service):  # noqa: F811
    with new_page(browser, service, color_scheme="dark") as page:
        page.goto("/docs/")
        expect(page.get_by_text("Update a user group", exact=True)).to_be_visible()
        background = "getComputedStyle(document.documentElement).backgroundColor"
        dark = page.evaluate(background)
        page.emulate_media(color_scheme="light")
        expect(page.locator("html")).not_to_have_class("dark-mode")
        assert (dark, page.evaluate(background)) == ("rgb(28, 32, 34)", "rgba(0, 0, 0, 0)")

        page.get_by_role("banner").get_by_role("link").click()
        expect(page.get_by_role("link", name="Try the API")).to_be_visible()
