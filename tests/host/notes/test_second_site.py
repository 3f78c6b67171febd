"""The admin of the apps on a second admin site.

The fixture ``everything`` has an object of each model.
"""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.admin.conftest import everything  # noqa: F401
from tests.admin.test_lists import MODELS
from tests.host.notes.report_tokens import ReportToken

pytestmark = pytest.mark.django_db


def url(name, *args):
    return reverse(f"second:{name}", args=args)


def sites_in_links(page):
    """Return the first part of the addresses to which a page links, without
    that of static files.
    """
    assert page.status_code == 200
    pattern = r'(?:href|action|data-ajax--url)="/(\w+)/'
    return set(re.findall(pattern, page.content.decode())) - {"assets"}


@pytest.mark.parametrize("model", MODELS)
def test_pages_link_to_their_own_site(admin_client, everything, model):  # noqa: F811
    key = everything[model].pk
    selected = {"action": "delete_selected", "_selected_action": [key], "index": 0}

    pages = [
        admin_client.get(url(f"{model}_changelist")),
        admin_client.get(url(f"{model}_add")),
        admin_client.get(url(f"{model}_change", key)),
        admin_client.get(url(f"{model}_delete", key)),
        admin_client.get(url(f"{model}_history", key), follow=True),
        admin_client.post(url(f"{model}_changelist"), selected, follow=True),
    ]

    for page in pages:
        assert sites_in_links(page) == {"second"}


def test_the_pages_of_imports_and_new_tokens_link_to_their_own_site(
    admin_client,
    everything,  # noqa: F811
):
    file = SimpleUploadedFile("file.csv", b"url\nhttps://example.com/\n")
    upload = {"user_group": everything["usergroups_usergroup"].pk, "file": file}
    token = {"team": everything["usergroups_team"].pk, "environment": ""}

    pages = [
        admin_client.get(url("bookmarks_bookmark_import")),
        admin_client.post(url("bookmarks_bookmark_import"), upload, follow=True),
        admin_client.post(url("usergroups_apitoken_add"), token, follow=True),
    ]

    for page in pages:
        assert sites_in_links(page) == {"second"}


def test_find_leads_to_the_page_on_its_own_site(admin_client, everything):  # noqa: F811
    token = everything["usergroups_apitoken"]
    of_the_host, secret = ReportToken.objects.issue(
        team=everything["usergroups_team"], name="Quarterly"
    )

    found = admin_client.post(url("find"), {"text": token.secret})
    found_of_the_host = admin_client.post(url("find"), {"text": secret})
    page = admin_client.get(found.url)

    assert found.url == url("usergroups_apitoken_change", token.pk)
    assert found_of_the_host.url == url("notes_reporttoken_change", of_the_host.pk)
    assert 'action="/second/find/"' in page.content.decode()
    results = admin_client.post(url("find"), {"text": "Findable"})
    assert sites_in_links(results) == {"second"}


def test_an_admin_site_of_another_class_has_no_find_field(admin_client):
    page = admin_client.get(reverse("admin:usergroups_apitoken_changelist"))

    assert page.status_code == 200
    assert 'id="find"' not in page.content.decode()
