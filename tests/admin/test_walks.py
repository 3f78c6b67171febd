"""What operators do most often, on a phone, a tablet and a desktop."""

import pytest
from playwright.sync_api import expect

from tests.admin.browser import needs_chromium
from tests.admin.walks import Walk, issue_for_new_team, revoke_leaked, show_bookmarks

pytestmark = [needs_chromium, pytest.mark.once, pytest.mark.parametrize("width", [390, 1024, 1440])]

LEAK = """
from usergroups.models import ApiToken, Team
print(ApiToken.objects.issue(team=Team.objects.get(name="Demo"), name="Leaked")[1])
"""


@pytest.fixture
def walk(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    return Walk(page)


def update(service, secret, **fields):
    return service.request("PUT", "/api/user", json=fields, headers={"Authorization": f"Token {secret}"})


def test_a_leaked_token_is_revoked(service, walk):
    secret = service.manage("shell", "--no-imports", "-c", LEAK).stdout.strip()
    addresses = []
    walk.page.on("request", lambda request: addresses.append(request.url))
    assert update(service, secret, user_group_id="example_1").status_code == 200

    revoke_leaked(walk, secret)

    assert update(service, secret, user_group_id="example_1").status_code == 401
    assert not any(secret in address for address in addresses)
    assert walk.clicks == 3  # into the search field, Revoke, and Revoke on the confirmation


def test_a_new_team_makes_its_first_call(service, walk, width):
    secret = issue_for_new_team(walk, f"Team {width}")

    headers = {"Authorization": f"Token {secret}"}
    created = service.request("POST", "/api/user", json={"user_group_id": "first", "name": "First"}, headers=headers)
    assert created.status_code == 201
    assert update(service, secret, user_group_id="first", name="Second").status_code == 200
    assert walk.clicks == 7


def test_the_bookmarks_of_a_customer_are_listed(service, walk, width):
    urls = [f"https://example.com/{width}/{n}" for n in range(3)]
    provided_id = f"walker-{width}"
    user_group = {"user_group_id": provided_id, "name": "Walker"}
    headers = {"Authorization": f"Token {service.api_token}"}
    assert service.request("POST", "/api/user", json=user_group, headers=headers).status_code == 201
    lines = "\n".join(f'{{"url": "{url}"}}' for url in urls)
    file = service.log.with_name(f"{width}.jsonl")
    file.write_text(lines)
    result = service.manage("import_bookmarks", str(file), "--team", "Demo", "--user-group", provided_id)
    assert result.returncode == 0, result.stderr

    show_bookmarks(walk, provided_id)

    expect(walk.page.locator("#result_list tbody tr")).to_have_count(3)
    listed = walk.page.locator("#result_list tbody").inner_text()
    assert all(url.removeprefix("https://") in listed for url in urls)
    assert walk.clicks == 2  # into the search field, and the number of bookmarks
