"""The admin without a mouse: every element is reached with Tab, and shows that it has the focus."""

import re

import pytest
from playwright.sync_api import expect

from tests.admin.browser import needs_chromium, new_page

pytestmark = [needs_chromium, pytest.mark.once]

FOCUSED = """
() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  return {
    name: (element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.value || element.title
           || element.textContent).trim(),
    html: element.outerHTML.slice(0, 200),
    visible: element === document.body || box.height > 0 && (
      (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none"),
  };
}
"""


def tab_to(page, name, key="Tab"):
    """Press the key until the element with this name has the focus. Fail if one on the way does not show its focus."""
    for _ in range(150):
        page.keyboard.press(key)
        focused = page.evaluate(FOCUSED)
        assert focused["visible"], f"{page.url}: {focused['html']}"
        if re.fullmatch(name, focused["name"]):
            return
    raise AssertionError(f"{name} was not reached on {page.url}")


def test_a_token_is_found_and_revoked_without_a_mouse(browser, service):
    result = service.manage("create_api_token", "--team", "Keys", "--create-team", "--name", "Forgotten")
    secret = result.stdout.strip()
    with new_page(browser, service, color_scheme="dark", viewport={"width": 1440, "height": 900}) as page:
        page.goto("/admin/")
        expect(page.get_by_label("Username")).to_be_focused()
        page.keyboard.type("operator")
        tab_to(page, "Password:?")
        page.keyboard.type(service.password)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()

        tab_to(page, "API tokens")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="API tokens")).to_be_visible()

        # The filter by team is opened, searched and applied.
        tab_to(page, "Team")
        page.keyboard.press("Enter")
        expect(page.locator(".select2-search__field")).to_be_focused()
        page.keyboard.type("Keys")
        expect(page.locator(".select2-results__option--highlighted")).to_have_text("Keys")
        page.keyboard.press("Enter")
        rows = page.locator("#result_list tbody tr")
        expect(rows).to_have_count(1)

        # The row is selected, the action chosen and confirmed.
        tab_to(page, "Select this object for an action - .*")
        page.keyboard.press("Space")
        expect(rows.get_by_role("checkbox")).to_be_checked()
        tab_to(page, r"Action:[\s\S]*", key="Shift+Tab")
        page.keyboard.type("Revoke sel")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Revoke 1 API token")).to_be_visible()
        tab_to(page, "Revoke.*")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Revoked: 1.")).to_be_visible()

    headers = {"Authorization": f"Token {secret}"}
    assert service.request("PUT", "/api/user", json={"user_group_id": "any"}, headers=headers).status_code == 401
