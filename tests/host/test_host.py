"""The apps in host projects with other settings. test_same_bytes.py compares
the responses over HTTP.
"""

from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.admin.browser import (  # noqa: F401
    browser,
    log_in,
    needs_chromium,
    new_context,
    new_page,
)
from tests.documents import blocks, section
from tests.host.hosts import new_project
from tests.nested import run_tests

pytestmark = pytest.mark.database_independent

TESTS_OF_OPERATIONS = [
    "tests/usergroups/test_update_user_group.py",
    "tests/usergroups/test_user_groups.py",
]


@pytest.mark.parametrize(
    ("host", "tests"),
    [
        pytest.param(
            "settings",
            ["tests/host/notes"],
            id="an app, a site and a replica of the host",
        ),
        pytest.param(
            "settings_alone", TESTS_OF_OPERATIONS, id="usergroups without bookmarks"
        ),
        pytest.param(
            "settings_labelled", ["tests/host/test_labels.py"], id="other labels"
        ),
    ],
)
def test_the_tests_pass_with_the_settings_of_a_host_project(host, tests):
    assert run_tests(f"tests.host.{host}", *tests)


# django-simple-history

WRITES = """
from bookmarks.models import Bookmark
from usergroups.models import Team, UserGroup
group = UserGroup.objects.create(team=Team.objects.create(name='Acme'), provided_id='a')
bookmark, _ = Bookmark.objects.add(user_group=group, url='https://example.com/')
Bookmark.objects.update_by_id(group, bookmark.pk, title='First')
bookmark.title = 'Second'
bookmark.save()
bookmark.delete()
found = Bookmark.history.order_by('history_id').values_list('history_type', 'title')
assert list(found) == [('+', ''), ('~', 'First'), ('~', 'Second'), ('-', 'Second')], found
"""


def test_the_documented_receiver_keeps_a_complete_history(tmp_path):
    host = new_project(
        tmp_path, [], "INSTALLED_APPS = [*INSTALLED_APPS, 'simple_history', 'notes']"
    )
    (tmp_path / "notes" / "migrations").mkdir(parents=True)
    (tmp_path / "notes" / "migrations" / "__init__.py").touch()
    _, receiver = blocks(section("plug-in", "Signals"), "python")
    (tmp_path / "notes" / "models.py").write_text(receiver)
    host.run("django", "makemigrations", "--verbosity=0", "notes")
    host.run("django", "migrate", "--verbosity=0")
    host.run("django", "shell", "--verbosity=0", f"--command={WRITES}")


# Unfold, a theme for the admin of Django

INSTALL_UNFOLD = "INSTALLED_APPS = ['unfold', *INSTALLED_APPS, 'host']"
ADMIN = """
from django.contrib import admin
from unfold.admin import ModelAdmin
from usergroups.admin import ApiTokenAdmin, UserGroupAdmin
from usergroups.models import ApiToken, UserGroup

admin.site.unregister([ApiToken, UserGroup])


@admin.register(UserGroup)
class HostUserGroupAdmin(UserGroupAdmin, ModelAdmin):
    pass


@admin.register(ApiToken)
class HostApiTokenAdmin(ApiTokenAdmin, ModelAdmin):
    pass
"""
# A missing icon would be an error.
NO_FAVICON = "UNFOLD = {'SITE_FAVICONS': [{'rel': 'icon', 'href': 'data:,'}]}"


@pytest.fixture
def unfold_page(browser, tmp_path):  # noqa: F811
    """Log in to a project with the admin classes above.

    The test fails if the browser reports an error.
    """
    host = new_project(
        tmp_path,
        ["django", "runserver", "--noreload", "{port}"],
        INSTALL_UNFOLD,
        NO_FAVICON,
    )
    (tmp_path / "host" / "admin.py").write_text(ADMIN)
    host.environment.update(
        DJANGO_SUPERUSER_PASSWORD="a-password", PYTHONWARNINGS="error"
    )
    with host.serve(tmp_path / "log") as address:
        host.run(
            "django",
            "createsuperuser",
            "--noinput",
            "--username=operator",
            "--email=operator@example.com",
        )
        with (
            new_context(browser, SimpleNamespace(base_url=address)) as context,
            new_page(context) as page,
        ):
            log_in(page, "a-password")
            expect(page.get_by_role("link", name="API tokens").first).to_be_visible()
            yield page


@needs_chromium
def test_with_unfold_pages_fit_the_screen_and_a_token_can_be_revoked(unfold_page):
    for model in ("usergroups/usergroup", "usergroups/apitoken"):
        for path in ("", "add/", "1/change/", "1/history/"):
            unfold_page.goto(f"/admin/{model}/{path}")
            assert unfold_page.evaluate(
                "document.documentElement.scrollWidth <= innerWidth"
            ), path

    unfold_page.goto("/admin/usergroups/apitoken/1/change/")
    unfold_page.get_by_role("button", name="Revoke", exact=True).click()
    unfold_page.get_by_role("button", name="Revoke 1 API token").click()
    expect(unfold_page.get_by_text("Revoked:")).to_be_visible()
