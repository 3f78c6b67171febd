"""The start page and /docs/ in Debian's Chromium. An operator is logged in."""

import json

import pytest
from playwright.sync_api import expect

from tests.admin.browser import needs_chromium

pytestmark = [needs_chromium, pytest.mark.database_independent]

BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def test_the_theme_that_was_chosen_in_the_admin_applies_to_all_pages(page):
    page.goto("/admin/")
    page.evaluate("localStorage.setItem('theme', 'dark')")

    page.goto("/")
    assert page.evaluate(BACKGROUND) == "rgb(18, 18, 18)"  # that of the dark theme
    page.goto("/docs/")
    expect(page.locator("html")).to_have_class("dark-mode")
    # which the other pages of the session would share
    page.evaluate("localStorage.removeItem('theme')")


def test_the_documentation_follows_the_color_scheme_and_leads_back(page):
    page.emulate_media(color_scheme="dark")
    page.goto("/docs/")
    expect(page.get_by_text("Update a user group", exact=True)).to_be_visible()
    expect(page.locator("html")).to_have_class("dark-mode")
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).not_to_have_class("dark-mode")

    page.get_by_role("banner").get_by_role("link").click()
    expect(page.get_by_role("link", name="Try the API")).to_be_visible()


OPERATIONS = [
    (
        "Update a user group",
        {"user_group_id": "example_1", "properties": {"plan": "pro"}},
        "200",
        '"plan": "pro"',
    ),
    (
        "Create a bookmark",
        {"url": "https://example.com/swagger"},
        "201",
        '"url": "https://example.com/swagger"',
    ),
    ("List collections", None, "200", "Reading list"),
]


def test_operations_can_be_tried_with_the_credentials_of_both_schemes(page, service):
    headers = {"Authorization": f"Bearer {service.access_token}"}
    created = service.request(
        "POST", "/v1/collections", json={"name": "Reading list"}, headers=headers
    )
    assert created.status_code in (201, 409)  # 409: quickstart has created it.
    page.goto("/docs/")
    page.get_by_role("button", name="Authorize").click()
    for scheme, value in (
        ("Send the word Token", f"Token {service.api_token}"),
        ("Authorization: Bearer", service.access_token),
    ):
        form = page.locator(".auth-container", has_text=scheme)
        form.locator("input").fill(value)
        form.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").first.click()

    for summary, body, status, answer in OPERATIONS:
        operation = page.locator(".opblock", has=page.get_by_text(summary, exact=True))
        operation.locator(".opblock-summary-control").click()
        operation.get_by_role("button", name="Try it out").click()
        if body:
            operation.locator("textarea.body-param__text").fill(json.dumps(body))
        operation.get_by_role("button", name="Execute").click()

        response = operation.locator(".live-responses-table .response")
        expect(response.locator(".response-col_status")).to_have_text(status)
        expect(response).to_contain_text(answer)
