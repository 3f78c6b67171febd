"""The page of a token begins with what matters most, and changes its name."""

import html
import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from tests.admin.actions import FACTORIES, allow, url
from tests.usergroups.factories import ApiTokenFactory

pytestmark = pytest.mark.django_db

MODEL = "usergroups_apitoken"


def page_of(client, token):
    return client.get(url(f"{token._meta.app_label}_{token._meta.model_name}_change", token.pk))


def sentence(page):
    [text] = re.findall(r'<p class="sentence">(.*?)</p>', page.content.decode(), re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text)).replace("\xa0", " ").strip()


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, "Active The token works. It can read and write. Environment: None."),
        ({"environment": "Testing"}, "Active The token works. It can read and write. Environment: Testing."),
        ({"read_only": True}, "Active The token works. It can only read. Environment: None."),
        (
            {"expires_at": timedelta(days=3, minutes=1)},
            "Expiring soon Expires in 3 days. It can read and write. Environment: None.",
        ),
        ({"expires_at": timedelta(days=-61)}, "Expired Expired 2 months ago. Calls get 401. Issue a new token"),
        ({"revoked_at": timedelta(hours=-2)}, "Revoked Revoked 2 hours ago. Calls get 401. Issue a new token"),
        (
            {"rotated_at": timedelta(hours=-1), "expires_at": timedelta(days=1, minutes=1)},
            "Rotated Rotated 1 hour ago, and expires in 1 day. Until then, both tokens work.",
        ),
    ],
)
def test_one_sentence_says_what_matters(admin_client, fields, shown):
    now = timezone.now()
    times = {name: now + value if isinstance(value, timedelta) else value for name, value in fields.items()}

    assert sentence(page_of(admin_client, ApiTokenFactory(**times))) == shown


@pytest.mark.parametrize("model", FACTORIES)
def test_a_new_token_begins_with_the_name_and_the_rights_of_the_old_one(admin_client, model):
    token = FACTORIES[model](name="CI", read_only=True, expired=True)

    link = re.search(r'href="([^"]*/add/\?[^"]*)">Issue a new token', page_of(admin_client, token).content.decode())[1]
    form = admin_client.get(html.unescape(link)).context["adminform"].form

    assert parse_qs(urlsplit(html.unescape(link)).query)["name"] == ["CI"]
    assert (form["name"].value(), form["read_only"].value()) == ("CI", "True")
    assert str(form[token.owner_field].value()) == str(token.owner.pk)


def test_the_button_requires_the_permission_to_issue_tokens(client):
    allow(client, MODEL, "view")

    assert "Issue a new token" not in page_of(client, ApiTokenFactory(expired=True)).content.decode()


def test_empty_rows_and_what_the_heading_shows_are_not_shown(admin_client):
    token = ApiTokenFactory(name="CI")
    used = ApiTokenFactory(recently_used=True, last_used_address="192.0.2.7", last_used_agent="curl")
    used.rotate(timedelta(hours=1))

    def rows(page):
        found = re.findall(r'class="form-row[^"]* field-(\w+)"', page.content.decode())
        return [name for name in found if name not in ("name", "expires", "team", "environment", "access")]

    assert rows(page_of(admin_client, token)) == ["created_at"]
    assert rows(page_of(admin_client, used)) == ["created_at", "last_used", "last_used_address", "last_used_agent"]


@pytest.mark.parametrize("model", FACTORIES)
def test_no_form_offers_to_add_another_or_has_icons_of_related_rows(admin_client, model):
    pages = [admin_client.get(url(f"{model}_add")), page_of(admin_client, FACTORIES[model]())]

    for page in pages:
        for text in ("_addanother", "related-widget-wrapper-link", "icon-addlink"):
            assert text not in page.content.decode()


def test_only_the_name_can_be_edited(admin_client):
    token = ApiTokenFactory(expiring=True)

    form = page_of(admin_client, token).context["adminform"].form

    assert list(form.fields) == ["name"]
