"""axe-core finds no violation on any page, at three widths and in both color
schemes. Add each new page to a table.

A test also fails if the browser reports an error, for example because the page
violates its content security policy.
"""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.template.loader import render_to_string

from tests.admin.browser import filled_service, needs_chromium, new_context, new_page

pytestmark = [needs_chromium, pytest.mark.database_independent]

FILL = """
from datetime import timedelta
from django.contrib.auth.models import Group
from django.utils import timezone
from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.models import ApiToken, Team, UserGroup

team, user_group, shelf, now = Team.objects.get(), UserGroup.objects.get(), Collection.objects.get(), timezone.now()
for model, owner in ((ApiToken, {"team": team}), (AccessToken, {"user_group": user_group})):
    rotated, _ = model.objects.issue(name="Nightly sync", expires_at=now + timedelta(days=3), read_only=True, **owner)
    rotated.rotate(timedelta(days=1))
    for field in ("expires_at", "revoked_at", "last_used_at"):
        token, _ = model.objects.issue(name="CI", **owner)
        model.objects.filter(pk=token.pk).update(**{field: now - timedelta(days=1)})
urls = [f"https://example.com/{'long/' * n}" for n in range(20)]
Bookmark.objects.bulk_create(Bookmark(user_group=user_group, collection=shelf, url=url, title="A page") for url in urls)
Group.objects.create(name="Reviewers")
"""
"""Adds tokens in every state and many bookmarks to the team, user group and
collection of ``quickstart``.
"""

ADMIN = {
    "overview": ["/admin/"],
    "app": ["/admin/usergroups/"],
    "teams": ["/admin/usergroups/team/"],
    "team": ["/admin/usergroups/team/1/change/"],
    "add team": ["/admin/usergroups/team/add/"],
    "user groups": ["/admin/usergroups/usergroup/"],
    "user groups of a team": ["/admin/usergroups/usergroup/?team__id__exact=1"],
    "no user group found": ["/admin/usergroups/usergroup/?q=nowhere"],
    "user group": ["/admin/usergroups/usergroup/1/change/"],
    "menu of a user group": [
        "/admin/usergroups/usergroup/1/change/",
        ".menu:last-of-type summary",
    ],
    "form of a user group": ["/admin/usergroups/usergroup/1/change/?edit=1"],
    "add user group": ["/admin/usergroups/usergroup/add/"],
    "reveal user group token": [
        "/admin/usergroups/usergroup/1/change/",
        "button[value=reveal_token]",
    ],
    "revealed user group token": [
        "/admin/usergroups/usergroup/1/change/",
        "button[value=reveal_token]",
        ".submit-row input",
        "[data-copies]",
    ],
    "rotate user group token": [
        "/admin/usergroups/usergroup/1/change/",
        "button[value=rotate_token]",
    ],
    "delete team": ["/admin/usergroups/team/1/delete/"],
    "API tokens": ["/admin/usergroups/apitoken/"],
    "API tokens, sorted": ["/admin/usergroups/apitoken/?o=2"],
    "API token": ["/admin/usergroups/apitoken/2/change/"],
    "add API token": ["/admin/usergroups/apitoken/add/"],
    "revoke API token": [
        "/admin/usergroups/apitoken/1/change/",
        "button[value=revoke]",
    ],
    "rotate API token": [
        "/admin/usergroups/apitoken/1/change/",
        "button[value=rotate]",
    ],
    "issued API token": [
        "/admin/usergroups/apitoken/1/change/",
        "button[value=rotate]",
        ".submit-row input",
        "[data-copies]",
    ],
    "history": ["/admin/usergroups/apitoken/2/history/"],
    "access tokens": ["/admin/bookmarks/accesstoken/"],
    "access token": ["/admin/bookmarks/accesstoken/1/change/"],
    "add access token": ["/admin/bookmarks/accesstoken/add/"],
    "collections": ["/admin/bookmarks/collection/"],
    "collection": ["/admin/bookmarks/collection/", "#result_list tbody th a"],
    "add collection": ["/admin/bookmarks/collection/add/"],
    "bookmarks": ["/admin/bookmarks/bookmark/"],
    "bookmarks of a user group": ["/admin/bookmarks/bookmark/?user_group__id__exact=1"],
    "bookmark": ["/admin/bookmarks/bookmark/", "#result_list tbody th a"],
    "add bookmark": ["/admin/bookmarks/bookmark/add/"],
    "choose a user group": ["/admin/bookmarks/bookmark/add/", ".select2-selection"],
    "import": ["/admin/bookmarks/bookmark/import/?user_group=1"],
    "users": ["/admin/auth/user/"],
    "user": ["/admin/auth/user/1/change/"],
    "add user": ["/admin/auth/user/add/"],
    "password of a user": ["/admin/auth/user/1/password/"],
    "groups": ["/admin/auth/group/"],
    "group": ["/admin/auth/group/1/change/"],
    "history of all": ["/admin/usergroups/event/"],
    "change password": ["/admin/password_change/"],
}
"""The pages of the admin: a path, and selectors of elements to click one after
the other.
"""

VISITORS = {
    "start": ["/"],
    "login": ["/admin/login/"],
    "failed login": ["/admin/login/", "[type=submit]"],
}

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
def service():
    with filled_service(FILL) as service:
        yield service


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


SELECT2 = [("region", ".select2-container--open")]
"""An exception for the rule that all content is in landmarks: Select2 adds its
list to the end of the page.
"""


@pytest.mark.parametrize("steps", ADMIN.values(), ids=ADMIN)
def test_a_page_of_the_admin_is_accessible(operator, steps):
    open_page(operator, *steps)

    assert violations(operator, exceptions=SELECT2) == []


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


@pytest.mark.parametrize(
    ("rows", "heading"),
    [
        (b"none", "No bookmarks imported"),
        (b"https://example.com/imported", "Bookmarks imported"),
    ],
)
def test_the_result_of_an_import_is_accessible(operator, rows, heading):
    operator.goto("/admin/bookmarks/bookmark/import/?user_group=1")
    operator.locator("#id_file").set_input_files(
        {"name": "a.csv", "mimeType": "text/csv", "buffer": b"url\n" + rows}
    )
    operator.get_by_role("button", name="Import bookmarks").click()
    operator.get_by_role("heading", name=heading, exact=True).wait_for()

    assert violations(operator) == []


def check_file(page, content):
    """Choose a file with this content on the import page, and check it."""
    file = {"name": "a.csv", "mimeType": "text/csv", "buffer": content}
    page.locator("#id_file").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()


def test_the_check_of_a_file_is_accessible_and_keeps_the_file(operator):
    operator.goto("/admin/bookmarks/bookmark/import/?user_group=1")
    rows = b"url,collection\nhttps://example.com/checked,Checked\nnone,\n"
    check_file(operator, rows)
    operator.get_by_role("heading", name="nothing has been imported yet").wait_for()

    assert violations(operator) == []
    assert operator.get_by_text("New collections: 1").is_visible()
    # An error does not prevent another check.
    check_file(operator, b"")
    operator.get_by_text("The submitted file is empty.").wait_for()
    check_file(operator, rows)
    operator.get_by_role("heading", name="nothing has been imported yet").wait_for()
    # The file need not be chosen again.
    operator.get_by_role("button", name="Import bookmarks").click()
    operator.get_by_role("heading", name="Bookmarks imported", exact=True).wait_for()


def test_the_secrets_of_several_tokens_are_accessible(operator):
    operator.goto("/admin/usergroups/apitoken/?q=CI")
    operator.locator("#action-toggle").check()
    operator.get_by_label("Action:").select_option("Rotate selected API tokens")
    operator.locator(".actions button[name=index]").click()
    operator.get_by_role("button", name="Rotate").click()
    operator.locator("[data-copies]").first.wait_for()

    assert violations(operator) == []


def test_the_confirmation_of_a_deletion_in_a_list_is_accessible(operator):
    operator.goto("/admin/bookmarks/bookmark/")
    operator.locator("#action-toggle").check()
    operator.get_by_label("Action:").select_option("Delete selected bookmarks")
    operator.locator(".actions button[name=index]").click()
    operator.get_by_role("heading", name="Delete").first.wait_for()

    assert violations(operator) == []


@pytest.mark.parametrize("steps", VISITORS.values(), ids=VISITORS)
def test_a_page_without_login_is_accessible(visitor, steps):
    open_page(visitor, *steps)

    assert violations(visitor) == []


@pytest.mark.parametrize("template", ERROR_TEMPLATES)
def test_an_error_page_is_accessible(visitor, template):
    context = {
        "failure_limit": 10,
        "title": "Sign-in failed",
        "message": "The provider refused.",
    }
    html = render_to_string(template, context)
    visitor.route(
        "**/error/", lambda route: route.fulfill(content_type="text/html", body=html)
    )
    visitor.goto("/error/")

    assert violations(visitor) == []


RUN = """
// Finish the animations of colors that a change of the color scheme starts, so that axe-core sees the final colors.
async ([options, ...exceptions]) => {
  for (const animation of document.getAnimations()) animation.finish();
  const exclude = exceptions.map(([rule, selector]) => ({ rule, nodes: [...document.querySelectorAll(selector)] }));
  const { violations } = await axe.run(options);
  return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target, failureSummary }) => {
    const element = document.querySelector(target[0]);
    const excepted = exclude.some(({ rule, nodes }) => rule === id && nodes.includes(element));
    return { id, impact, excepted, node: target.join(" "), why: failureSummary.split("\\n").pop().trim() };
  }));
}
"""
OPTIONS = {
    "resultTypes": ["violations"],
    "preload": False,  # True would load the style sheets again.
    # a rule of WCAG 2.2, which is off by default
    "rules": {"target-size": {"enabled": True}},
}
COLORS = {**OPTIONS, "runOnly": ["color-contrast", "link-in-text-block"]}
# what depends on the width
PHONE = {**COLORS, "runOnly": [*COLORS["runOnly"], "target-size", "region"]}

EVERYTHING = [
    (1440, "light", OPTIONS),
    (1024, "dark", COLORS),
    (360, "light", PHONE),
    (360, "dark", COLORS),
]
"""The width and the color scheme of each run of axe-core, and its options."""


def violations(page, runs=EVERYTHING, exceptions=()):
    """Return the violations on the page in its present state, for each width
    and color scheme.

    A page that is wider than the screen is a violation, too. Each of the
    exceptions has a rule and a selector of the elements for which that rule is
    ignored.
    """
    page.evaluate(AXE_SCRIPT)
    found = []
    for width, scheme, options in runs:
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
        found += [
            f"{width} px, {scheme}: {each['id']} ({each['impact']}): {each['node']}: "
            f"{each['why']}"
            for each in page.evaluate(RUN, [options, *exceptions])
            if not each["excepted"]
        ]
    return found
