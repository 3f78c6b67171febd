"""The admin in Chromium, with the mouse and with the keyboard alone, with the
data of ``browser.FILL``.
"""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.admin.browser import (
    choose,
    clipboard,
    log_in,
    needs_chromium,
    new_context,
    new_page,
)

pytestmark = [needs_chromium, pytest.mark.database_independent]


def copied(page):
    """Copy the only secret of the page and return it."""
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    return clipboard(page)


def update_user_group(service, secret, **fields):
    body = {"user_group_id": "example_1", **fields}
    return service.request(
        "PUT", "/api/user", json=body, headers={"Authorization": f"Token {secret}"}
    )


def test_an_api_token_is_issued_used_rotated_and_revoked(service, page):
    page.goto("/admin/")
    page.get_by_role("link", name="API tokens", exact=True).first.click()
    page.get_by_role("link", name="Add API token").click()
    choose(page, "#id_team", "dem", "Demo")
    page.get_by_label("Name").fill("Nightly sync")
    page.get_by_role("button", name="Save").click()

    # The secret is shown, copied and used.
    expect(page.get_by_text("A secret is shown only now")).to_be_visible()
    secret = copied(page)
    assert update_user_group(service, secret).status_code == 200

    # Reloading the page, and going back and forward, neither shows the secret
    # again nor issues another token.
    heading = page.get_by_role("heading", name="API tokens")
    page.reload()
    expect(heading).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Add API token")).to_be_visible()
    page.go_forward()
    expect(heading).to_be_visible()
    assert secret not in page.content()

    # The list shows the last use, and does not show the secret again.
    page.get_by_role("link", name="API tokens", exact=True).first.click()
    page.locator("#searchbar").fill("nightly")
    page.get_by_role("button", name="Search").click()
    row = page.get_by_role("row", name=re.compile(r"Nightly sync\b"))
    expect(row).to_have_count(1)
    expect(row.locator(".badge")).to_have_text("Active")
    expect(row.locator(".field-last_used")).to_contain_text("just now")
    assert secret not in page.content()

    # The token is rotated, and both secrets work during the grace period.
    row.get_by_role("link").first.click()
    page.get_by_role("button", name="Rotate").click()
    page.get_by_label("Old token expires").select_option("after 1 day")
    page.get_by_role("button", name="Rotate").click()
    successor = copied(page)
    assert successor != secret
    for each in (secret, successor):
        assert update_user_group(service, each).status_code == 200

    # The page of the successor shows its last use. It is revoked with two
    # clicks, and the API refuses it.
    page.locator("#secrets tbody a").first.click()
    expect(page.locator(".field-last_used_address .readonly")).to_have_text("127.0.0.1")
    expect(page.locator(".field-last_used_agent .readonly")).to_contain_text(
        "python-httpx"
    )
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    expect(page.get_by_text(re.compile("127.0.0.1 · python-httpx"))).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("Revoked:")).to_be_visible()
    assert update_user_group(service, secret).status_code == 200
    assert update_user_group(service, successor).status_code == 401
    expect(page.locator(".sentence .badge")).to_have_text("Revoked")


def test_all_rotated_secrets_are_copied_at_once_and_going_back_sends_nothing_again(
    service, page
):
    old, _ = service.printed.split()  # of the tokens "Many more" and "Forgotten"
    # also the five tokens "Many 0" to "Many 4" of the team Demo
    page.goto("/admin/usergroups/apitoken/?q=Many")
    page.locator("#action-toggle").check()
    page.get_by_label("Action:").select_option("Rotate selected API tokens")
    page.locator(".actions button[name=index]").click()
    page.get_by_role("button", name="Rotate").click()
    page.get_by_role("button", name="Copy all").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    rows = [line.split("\t") for line in clipboard(page).strip().splitlines()]
    assert [row[4] for row in rows] == page.locator(".secret code").all_text_contents()
    # the team, the environment, the name, the expiry and the secret
    assert [row[0] for row in rows] == ["Demo"] * 6
    assert {update_user_group(service, row[4]).status_code for row in rows} == {200}

    posts = logged_posts(service)
    page.go_back()
    expect(page.get_by_role("heading", name="Rotate API tokens")).to_be_visible()
    page.go_back()
    expect(page.locator("#result_list")).to_be_visible()
    assert "q=Many" in page.url
    assert logged_posts(service) == posts
    # The grace period has not ended.
    assert update_user_group(service, old).status_code == 200


def logged_posts(service):
    return service.log.read_text().count('"method": "POST"')


def test_a_page_warns_before_unsaved_changes_are_lost(page):
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    address = "/admin/usergroups/usergroup/1/change/?edit=1"
    page.goto(address)
    name = page.get_by_label("Name").input_value()
    page.goto("/admin/")
    assert dialogs == []

    page.goto(address)
    page.get_by_label("Name").press_sequentially(" changed")
    page.goto("/admin/")
    assert dialogs == ["beforeunload"]

    page.goto(address)
    page.get_by_label("Name").press_sequentially(" changed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    assert dialogs == ["beforeunload"]

    # Saving leads to the page, which has both names in its last events.
    values = page.locator(".lines details pre")
    expect(values.first).to_have_text(name)
    expect(values.last).to_contain_text("changed")


def test_a_leaked_secret_is_found_without_being_in_an_address(service, page):
    addresses = []
    page.on("framenavigated", lambda frame: addresses.append(frame.url))
    page.on("request", lambda request: addresses.append(request.url))
    page.goto("/admin/")

    # The key "/" moves the focus to the field of Find.
    page.keyboard.press("/")
    expect(page.locator("#find-text")).to_be_focused()
    page.keyboard.type(service.api_token)
    page.keyboard.press("Enter")
    # the name of the token
    expect(page.get_by_role("heading", name="quickstart")).to_be_visible()

    # In the search field of a list, the key is typed as usual, and a secret is
    # passed on to Find.
    page.goto("/admin/usergroups/usergroup/")
    # also from a check box
    page.locator("#action-toggle").focus()
    page.keyboard.press("/")
    expect(page.locator("#find-text")).to_be_focused()
    page.locator("#searchbar").press_sequentially("a/b")
    expect(page.locator("#searchbar")).to_have_value("a/b")
    page.locator("#searchbar").fill(f" {service.access_token}")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", name="quickstart")).to_be_visible()
    for address in addresses:
        assert service.api_token not in address
        assert service.access_token not in address


def test_the_first_invalid_field_of_a_refused_form_has_the_focus(page):
    page.set_viewport_size({"width": 1280, "height": 400})
    page.goto("/admin/usergroups/usergroup/1/change/?edit=1")
    page.get_by_label("Properties").fill("{")
    # The browser's own check, before the form is sent.
    expect(page.locator(".field-properties .json-problem")).not_to_be_empty()
    page.get_by_label("Properties").fill('{\n "a": 1')
    expect(page.locator(".field-properties .json-lines")).to_have_text("1\n2")

    page.get_by_role("button", name="Save").click()

    expect(page.locator(".field-properties .errorlist")).to_be_visible()
    expect(page.get_by_label("Properties")).to_be_focused()
    expect(page.get_by_label("Properties")).to_be_in_viewport()
    page.get_by_label("Properties").fill("{}")
    expect(page.locator(".field-properties .json-problem")).to_be_empty()


def test_a_form_says_that_the_session_has_expired_and_keeps_what_was_typed(
    browser, service
):
    address = "/admin/usergroups/team/1/change/?edit=1"
    with new_context(browser, service) as context, new_page(context) as page:
        log_in(page, service.password)
        page.goto(address)
        page.get_by_label("Notes").fill("Typed for an hour")
        context.clear_cookies(name="sessionid")
        page.get_by_role("button", name="Save").click()

        expect(page.locator("#not-saved")).to_be_focused()
        expect(page.get_by_label("Notes")).to_have_value("Typed for an hour")
        with page.expect_popup() as login:
            page.get_by_role("link", name="Log in again in a new tab").click()
        log_in(login.value, service.password)
        expect(login.value.get_by_role("heading", name="Overview")).to_be_visible()

        # also with the CSRF token of the new session
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("was changed successfully")).to_be_visible()
        expect(page.locator("p", has_text="Typed for an hour")).to_be_visible()

        # The import page, whose file would be sent in vain, leads to the login.
        choose_file(page)
        context.clear_cookies(name="sessionid")
        page.get_by_role("button", name="Import bookmarks").click()
        expect(page.get_by_text("your session has expired")).to_be_visible()
        page.get_by_role("link", name="Log in again").click()
        expect(page.get_by_label("Username")).to_be_visible()
        assert "import" in page.url


@pytest.mark.parametrize(
    ("fulfil", "text"),
    [
        (lambda route: route.abort(), "does not respond"),
        (lambda route: route.fulfill(status=503, body="Down"), "does not respond"),
        (
            lambda route: route.fulfill(content_type="text/html", body="<p>The list"),
            "“Demo” has been deleted meanwhile.",
        ),
    ],
    ids=["network", "database", "deleted"],
)
def test_a_form_that_cannot_be_saved_says_why_and_keeps_what_was_typed(
    context, fulfil, text
):
    # not new_page(), which fails because of the error
    with context.new_page() as page:
        page.goto("/admin/usergroups/team/1/change/?edit=1")
        page.get_by_label("Notes").fill("Typed for an hour")
        page.route("**/change/**", fulfil)

        page.get_by_role("button", name="Save").click()

        expect(page.locator("#not-saved")).to_be_focused()
        expect(page.get_by_text(text)).to_be_visible()
        expect(page.get_by_label("Notes")).to_have_value("Typed for an hour")


def test_a_confirmation_counts_what_is_checked_and_keeps_it_after_a_logout(
    browser, service
):
    with new_context(browser, service) as context, new_page(context) as page:
        log_in(page, service.password)
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        page.goto("/admin/usergroups/apitoken/?q=Nightly")
        page.locator("#action-toggle").check()
        page.get_by_label("Action:").select_option("Revoke selected API tokens")
        page.locator(".actions button[name=index]").click()
        rows = page.locator("[name=confirmed][type=checkbox]")
        expect(page.locator("#checked")).to_contain_text("Listed: ")
        number = rows.count()

        rows.first.uncheck()

        expect(page.locator("#checked")).to_contain_text(f"Checked: {number - 1}")
        context.clear_cookies(name="sessionid")
        page.get_by_role("button", name="Revoke API tokens").click()
        expect(page.get_by_text("Your session has expired.")).to_be_visible()
        expect(rows.first).not_to_be_checked()


def test_leaving_a_secret_that_was_not_copied_asks(page):
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    for copies in (False, True):
        page.goto("/admin/usergroups/usergroup/1/change/")
        page.get_by_role("button", name="Reveal dashboard token").click()
        page.get_by_role("button", name="Reveal the dashboard token").click()
        expect(page.locator("#secrets")).to_be_visible()
        page.locator("#secrets p").first.click()  # so that the browser asks
        if copies:
            copied(page)
        page.goto("/admin/")

    assert dialogs == ["beforeunload"]


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
"""Returns the name and the HTML of the focused element, and whether its focus
is visible.
"""


def tab_to(page, name, key="Tab"):
    """Press the key until the element with this name has the focus.

    Fail if one on the way does not show its focus.
    """
    for _ in range(150):
        page.keyboard.press(key)
        focused = page.evaluate(FOCUSED)
        assert focused["visible"], f"{page.url}: {focused['html']}"
        if re.fullmatch(name, focused["name"]):
            return
    raise AssertionError(f"{name} was not reached on {page.url}")


def test_a_token_is_found_and_revoked_without_a_mouse(browser, service):
    # of the token "Forgotten", the only one of the team Keys
    _, secret = service.printed.split()
    with new_context(browser, service) as context, new_page(context) as page:
        page.emulate_media(color_scheme="dark")
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
        expect(page.locator(".select2-results__option--highlighted")).to_have_text(
            "Keys"
        )
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
        expect(page.get_by_text("Revoked:")).to_be_visible()

    assert update_user_group(service, secret).status_code == 401


IMPORT = "/admin/bookmarks/bookmark/import/?user_group=1"
READING = "Reading the file."


def choose_file(page):
    content = b"url\nhttps://example.com/progress"
    file = {"name": "a.csv", "mimeType": "text/csv", "buffer": content}
    page.goto(IMPORT)
    page.locator("#id_file").set_input_files(file)


def test_the_import_page_shows_that_it_works_and_keeps_the_file(page):
    requests = []

    # Playwright sets an attribute of this function.
    def hold(request):
        requests.append(request)

    choose_file(page)
    page.route("**/import/**", hold)
    expect(page.get_by_text(READING)).to_be_hidden()

    for button, heading in (
        ("Check the file", "nothing has been imported yet"),
        ("Import bookmarks", "Bookmarks imported"),
    ):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_text(READING)).to_be_visible()
        for name in ("Check the file", "Import bookmarks"):
            expect(page.get_by_role("button", name=name)).to_be_disabled()
        requests.pop().continue_()
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        expect(page.get_by_text(READING)).to_be_hidden()
        expect(page.get_by_role("button", name=button)).to_be_enabled()


def page_of_a_proxy(status):
    """Return a function that answers a request with this status."""
    return lambda route: route.fulfill(
        status=status, content_type="text/html", body="<h1>A page of the proxy</h1>"
    )


def test_an_import_without_a_report_is_explained_in_the_page(context):
    # not new_page(), which fails because of the error
    with context.new_page() as page:
        choose_file(page)
        for answer, text in (
            (page_of_a_proxy(413), "the file is larger than the server accepts"),
            (page_of_a_proxy(502), "The server did not return a report."),
            (lambda route: route.abort(), "The connection was lost."),
        ):
            page.route("**/import/**", answer)

            page.get_by_role("button", name="Import bookmarks").click()

            expect(page.get_by_text(text)).to_be_visible()
            expect(page.locator("#report")).to_be_focused()
            expect(page.get_by_text("A page of the proxy")).to_have_count(0)
            button = page.get_by_role("button", name="Import bookmarks")
            expect(button).to_be_enabled()


# The documentation


def test_the_documentation_follows_the_color_scheme_and_leads_back(page):
    page.emulate_media(color_scheme="dark")
    page.goto("/docs/")
    expect(page.get_by_text("Update a user group", exact=True)).to_be_visible()
    expect(page.locator("html")).to_have_class("dark-mode")
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).not_to_have_class("dark-mode")
    # The theme that was chosen in the admin has precedence.
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.reload()
    expect(page.locator("html")).to_have_class("dark-mode")

    page.get_by_role("banner").get_by_role("link").click()
    expect(page.get_by_role("link", name="Try the API")).to_be_visible()
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert color == "rgb(18, 18, 18)"  # that of the dark theme
    # which the other pages of the session would share
    page.evaluate("localStorage.removeItem('theme')")


GROUP = {"user_group_id": "example_1", "properties": {"plan": "pro"}}
BOOKMARK = {"url": "https://example.com/swagger"}


def test_operations_can_be_tried_with_the_credentials_of_both_schemes(page, service):
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

    for summary, body, status in (
        ("Update a user group", GROUP, "200"),
        ("Create a bookmark", BOOKMARK, "201"),
    ):
        operation = page.locator(".opblock", has=page.get_by_text(summary, exact=True))
        operation.locator(".opblock-summary-control").click()
        operation.get_by_role("button", name="Try it out").click()
        operation.locator("textarea.body-param__text").fill(json.dumps(body))
        operation.get_by_role("button", name="Execute").click()

        response = operation.locator(".live-responses-table .response")
        expect(response.locator(".response-col_status")).to_have_text(status)
        expect(response).to_contain_text('"success": 1')
