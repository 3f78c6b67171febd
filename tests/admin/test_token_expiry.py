"""The expiry of tokens in the forms of the admin."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from tests.admin.actions import url
from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db

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


def test_a_grace_period_can_be_shortened(admin_client):
    token = ApiTokenFactory()
    token.rotate(timedelta(days=7))
    token.refresh_from_db()
    tomorrow = timezone.now() + timedelta(days=1)

    change(admin_client, token, expires_at=f"{tomorrow:%Y-%m-%dT%H:%M}")

    assert ApiToken.objects.get(pk=token.pk).expires_at.date() == tomorrow.date()


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


def test_an_expired_token_is_renamed_without_the_fields_that_its_form_lacks(admin_client):
    token = ApiTokenFactory(expired=True)

    admin_client.post(url(f"{MODEL}_change", token.pk), {"name": "Renamed", "initial-name": ""})

    stored = ApiToken.objects.get()
    assert (stored.name, stored.expires_at) == ("Renamed", token.expires_at)


def test_the_input_has_a_type_that_browsers_have_a_picker_for(admin_client):
    token = ApiTokenFactory(expires_at=datetime(2099, 1, 31, 12, 0, 0, tzinfo=timezone.get_current_timezone()))

    page = admin_client.get(url(f"{MODEL}_change", token.pk)).content.decode()

    assert re.search(r'<input type="datetime-local" name="expires_at" value="2099-01-31T12:00:00"', page)


def test_an_expiry_that_another_operator_changed_is_refused_with_both_values(admin_client):
    opened, other = timezone.now() + timedelta(days=50), timezone.now() + timedelta(days=60)
    token = ApiTokenFactory(expires_at=opened)
    ApiToken.objects.update(expires_at=other)

    page = change(admin_client, token, expires_at="2099-01-31T12:00")

    [error] = page.context["adminform"].errors["expires_at"]
    assert str(other.year) in error
    assert "Save again to replace it." in error
    assert page.context["adminform"].form["expires_at"].value() == "2099-01-31T12:00"
    assert ApiToken.objects.get().expires_at == other
    initial = dict(re.findall(r'name="(initial-[\w-]+)" value="([^"]*)"', page.content.decode()))
    sent = {"name": token.name, "expires_at": "2099-01-31T12:00", **initial}
    assert admin_client.post(url(f"{MODEL}_change", token.pk), sent).status_code == 302
    assert ApiToken.objects.get().expires_at.year == 2099
