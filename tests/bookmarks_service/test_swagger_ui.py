"""A developer tries the API on /docs/ in Debian's Chromium, under the content security policy."""

import json

import pytest
from playwright.sync_api import expect

from tests.admin.browser import browser, needs_chromium, new_page  # noqa: F401

pytestmark = [needs_chromium, pytest.mark.once]


@pytest.fixture(scope="module")
def page(browser, service):  # noqa: F811
    """Both schemes are authorized on this page. It fails if the browser reports an error, such as a refused script."""
    with new_page(browser, service) as page:
        page.goto("/docs/")
        page.get_by_role("button", name="Authorize").click()
        for scheme, value in (
            ("Send Token <API_TOKEN>", f"Token {service.api_token}"),
            ("Authorization: Bearer", service.access_token),
        ):
            form = page.locator(".auth-container", has_text=scheme)
            form.locator("input").fill(value)
            form.get_by_role("button", name="Apply credentials").click()
        page.get_by_role("button", name="Close").first.click()
        yield page


@pytest.mark.parametrize(
    ("summary", "body", "status", "told"),
    [
        ("Update a user group", {"user_group_id": "example_1", "properties": {"plan": "pro"}}, "200", '"plan": "pro"'),
        ("Create a bookmark", {"url": "https://example.com/swagger"}, "201", '"url": "https://example.com/swagger"'),
    ],
)
def test_an_operation_is_tried(page, summary, body, status, told):
    operation = page.locator(".opblock", has=page.get_by_text(summary, exact=True))
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.locator("textarea.body-param__text").fill(json.dumps(body))
    operation.get_by_role("button", name="Execute").click()

    answer = operation.locator(".live-responses-table .response")
    expect(answer.locator(".response-col_status")).to_have_text(status)
    expect(answer).to_contain_text(told)


def test_an_operation_without_a_body_is_tried(page):
    operation = page.locator(".opblock", has=page.get_by_text("List collections", exact=True))
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()

    answer = operation.locator(".live-responses-table .response")
    expect(answer.locator(".response-col_status")).to_have_text("200")
    expect(answer).to_contain_text("Reading list")
