"""The page of a token begins with what matters most, and changes its name and its expiry."""

import html
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from tests.admin.actions import FACTORIES, allow, url
from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import ApiToken

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
        return [name for name in found if name not in ("name", "expires_at", "team", "environment", "access")]

    assert rows(page_of(admin_client, token)) == ["created_at"]
    assert rows(page_of(admin_client, used)) == ["created_at", "last_used", "last_used_address", "last_used_agent"]


@pytest.mark.parametrize("model", FACTORIES)
def test_no_form_offers_to_add_another_or_has_icons_of_related_rows(admin_client, model):
    pages = [admin_client.get(url(f"{model}_add")), page_of(admin_client, FACTORIES[model]())]

    for page in pages:
        for text in ("_addanother", "related-widget-wrapper-link", "icon-addlink"):
            assert text not in page.content.decode()


MODEL = "usergroups_apitoken"
PAST = {"expires_at": "2020-01-01T00:00"}


def change(client, token, **fields):
    """Submit the form of the token as if it had been opened before the fields were changed."""
    at = token.expires_at and timezone.localtime(token.expires_at)
    text = f"{at:%Y-%m-%dT%H:%M:%S}" if at else ""
    form = {"expires_at": text, "initial-expires_at": text, "name": token.name, "initial-name": token.name, **fields}
    return client.post(url(f"{MODEL}_change", token.pk), form)


def test_an_expiry_cannot_be_moved_to_the_past(admin_client):
    token = ApiTokenFactory(expiring=True)

    page = change(admin_client, token, **PAST)

    assert page.context["adminform"].errors == {"expires_at": ["Enter a time in the future."]}
    assert ApiToken.objects.get().expires_at == token.expires_at


@pytest.mark.parametrize("expiry", ["", "2099-01-01T12:00"])
def test_a_grace_period_cannot_be_prolonged(admin_client, expiry):
    token = ApiTokenFactory()
    token.rotate(timedelta(hours=1))
    token.refresh_from_db()

    page = change(admin_client, token, expires_at=expiry)

    assert page.context["adminform"].errors == {"expires_at": ["A rotated token can only expire earlier."]}
    assert ApiToken.objects.get(pk=token.pk).expires_at == token.expires_at


@pytest.mark.parametrize("trait", ["expired", "revoked"])
def test_the_expiry_of_an_inactive_token_is_not_editable(admin_client, trait):
    token = ApiTokenFactory(**{trait: True})

    page = admin_client.get(url(f"{MODEL}_change", token.pk))

    assert list(page.context["adminform"].form.fields) == ["name"]


@pytest.mark.parametrize("expiry", ["", "2099-01-01T12:00"])
@pytest.mark.parametrize(
    ("trait", "error"),
    [
        ("expired", "The token has expired. Issue a new one."),
        ("revoked", "The token is revoked. Issue a new one."),
    ],
)
def test_a_form_that_was_opened_before_cannot_revive_the_token(admin_client, expiry, trait, error):
    opened, token = ApiTokenFactory(expiring=True), ApiTokenFactory(**{trait: True})
    opened.pk = token.pk

    page = change(admin_client, opened, expires_at=expiry)

    assert page.context["adminform"].errors == {"expires_at": [error]}
    assert ApiToken.objects.get(pk=token.pk).expires_at == token.expires_at


@pytest.mark.parametrize("state", [{"expired": True}, {"expires_at": datetime(2099, 1, 1, 12, 0, 0, 5, UTC)}])
def test_a_token_is_renamed_and_keeps_its_expiry(admin_client, state):
    token = ApiTokenFactory(**state)

    change(admin_client, token, name="Renamed")

    stored = ApiToken.objects.get()
    assert (stored.name, stored.expires_at) == ("Renamed", token.expires_at)


def test_the_input_has_a_type_that_browsers_have_a_picker_for(admin_client):
    token = ApiTokenFactory(expires_at=datetime(2099, 1, 31, 12, 0, 0, tzinfo=timezone.get_current_timezone()))

    page = admin_client.get(url(f"{MODEL}_change", token.pk)).content.decode()

    assert re.search(r'<input type="datetime-local" name="expires_at" value="2099-01-31T12:00:00"', page)
