"""The expiry of tokens in the forms of the admin."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from tests.admin.actions import issue, secrets_on, url
from tests.usergroups.factories import ApiTokenFactory, TeamFactory
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db

MODEL = "usergroups_apitoken"
PAST = {"expires_at_0": "2020-01-01", "expires_at_1": "00:00"}


def change(client, token, **fields):
    """Submit the form of the token as if it had been opened before the fields were changed."""
    at = token.expires_at and timezone.localtime(token.expires_at)
    texts = (f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}") if at else ("", "")
    form = {f"{prefix}expires_at_{n}": text for prefix in ("", "initial-") for n, text in enumerate(texts)}
    form |= {"name": token.name, "initial-name": token.name, **fields}
    return client.post(url(f"{MODEL}_change", token.pk), form)


def test_a_token_cannot_be_issued_with_an_expiry_in_the_past(admin_client):
    page = admin_client.post(url(f"{MODEL}_add"), {"team": TeamFactory().pk, "environment": "", **PAST})

    assert page.context["adminform"].errors == {"expires_at": ["Enter a time in the future."]}
    assert not ApiToken.objects.exists()


def test_an_expiry_cannot_be_moved_to_the_past(admin_client):
    token = ApiTokenFactory(expiring=True)

    page = change(admin_client, token, **PAST)

    assert page.context["adminform"].errors == {"expires_at": ["Enter a time in the future."]}
    assert ApiToken.objects.get().expires_at == token.expires_at


@pytest.mark.parametrize("expiry", [("", ""), ("2099-01-01", "12:00")])
def test_a_grace_period_cannot_be_prolonged(admin_client, expiry):
    token = ApiTokenFactory()
    token.rotate(timedelta(hours=1))
    token.refresh_from_db()

    page = change(admin_client, token, expires_at_0=expiry[0], expires_at_1=expiry[1])

    assert page.context["adminform"].errors == {"expires_at": ["A rotated token can only expire earlier."]}
    assert ApiToken.objects.get(pk=token.pk).expires_at == token.expires_at


def test_a_grace_period_can_be_shortened(admin_client):
    token = ApiTokenFactory()
    token.rotate(timedelta(days=7))
    token.refresh_from_db()
    tomorrow = timezone.now() + timedelta(days=1)

    change(admin_client, token, expires_at_0=f"{tomorrow:%Y-%m-%d}", expires_at_1="")

    assert ApiToken.objects.get(pk=token.pk).expires_at.date() == tomorrow.date()


@pytest.mark.parametrize("trait", ["expired", "revoked"])
def test_the_expiry_of_an_inactive_token_is_not_editable(admin_client, trait):
    token = ApiTokenFactory(**{trait: True})

    page = admin_client.get(url(f"{MODEL}_change", token.pk))

    assert list(page.context["adminform"].form.fields) == ["name"]


@pytest.mark.parametrize("expiry", [("", ""), ("2099-01-01", ""), ("2099-01-01", "12:00")])
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

    page = change(admin_client, opened, expires_at_0=expiry[0], expires_at_1=expiry[1])

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


def test_a_date_without_a_time_is_the_end_of_the_day_in_both_forms(admin_client):
    end = datetime(2099, 1, 31, 23, 59, 59, 999_999, timezone.get_current_timezone())  # UTC, or that of the host
    page = issue(admin_client, MODEL, team=TeamFactory().pk, expires_at_0="2099-01-31", expires_at_1="")
    issued = ApiToken.objects.authenticate(*secrets_on(page))
    changed = ApiTokenFactory()
    change(admin_client, changed, expires_at_0="2099-01-31", expires_at_1="")

    assert issued.expires_at == end
    assert ApiToken.objects.get(pk=changed.pk).expires_at == end
    change(admin_client, ApiToken.objects.get(pk=changed.pk), name="Renamed")
    assert ApiToken.objects.get(pk=changed.pk).expires_at == end


def test_today_without_a_time_is_in_the_future(admin_client):
    today = timezone.localdate()

    page = issue(admin_client, MODEL, team=TeamFactory().pk, expires_at_0=str(today), expires_at_1="")

    assert timezone.localdate(ApiToken.objects.authenticate(*secrets_on(page)).expires_at) == today


def test_a_time_without_a_date_is_refused(admin_client):
    form = {"team": TeamFactory().pk, "environment": "", "expires_at_0": "", "expires_at_1": "12:00"}

    page = admin_client.post(url(f"{MODEL}_add"), form)

    assert page.context["adminform"].errors == {"expires_at": ["Enter a valid date."]}


def test_both_inputs_have_a_name(admin_client):
    page = admin_client.get(url(f"{MODEL}_add")).content.decode()

    assert 'aria-label="Expires: date"' in page
    assert 'aria-label="Expires: time"' in page
