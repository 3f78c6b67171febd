"""The selection on the confirmation page of an action."""

import re

import pytest

from tests.admin.actions import confirm, open_confirmation, open_confirmation_on_page
from tests.usergroups.factories import ApiTokenFactory
from usergroups.admin_tools import confirmations
from usergroups.models import ApiToken

pytestmark = pytest.mark.django_db

MODEL = "usergroups_apitoken"


def open_for_all(client, tokens):
    """Open the confirmation of a revocation after "Select all"."""
    return open_confirmation(
        client, MODEL, "revoke", tokens[0], select_across="1", index="0"
    )


def check_boxes(page):
    """Return the keys of the rows with a check box, all of which are checked."""
    pattern = r'<input type="checkbox" name="confirmed" value="(\d+)" [^>]* checked>'
    return [int(key) for key in re.findall(pattern, page.content.decode())]


def hidden_keys(page):
    [keys] = re.findall(r'name="confirmed" value="([\d,]*)">', page.content.decode())
    return keys


def unrevoked():
    return list(ApiToken.objects.filter(revoked_at=None).order_by("pk"))


@pytest.mark.parametrize("open_page", [open_confirmation, open_for_all])
def test_a_row_that_is_not_checked_is_left_out(admin_client, open_page):
    tokens = ApiTokenFactory.create_batch(25)
    arguments = [MODEL, "revoke", *tokens]
    if open_page is open_for_all:
        arguments = [tokens]

    page = open_page(admin_client, *arguments)

    keys = check_boxes(page)
    assert sorted(keys) == [token.pk for token in tokens]
    assert hidden_keys(page) == ""
    keys.remove(tokens[3].pk)
    done = confirm(admin_client, page, confirmed=[*keys, ""])
    assert "Revoked: 24. Already revoked: 0." in done.content.decode()
    assert unrevoked() == [tokens[3]]


def test_rows_that_are_not_listed_are_changed_nevertheless(admin_client, monkeypatch):
    monkeypatch.setattr(confirmations, "MAX_DESCRIBED", 2)
    monkeypatch.setattr(confirmations, "MAX_CHOICES", 3)
    tokens = ApiTokenFactory.create_batch(6)

    page = open_for_all(admin_client, tokens)

    # The newest are first.
    assert check_boxes(page) == [token.pk for token in reversed(tokens[3:])]
    assert "<summary>and 4 more</summary>" in page.content.decode()
    assert "<p>and 3 more</p>" in page.content.decode()
    confirm(admin_client, page, confirmed=[tokens[5].pk, hidden_keys(page)])
    assert unrevoked() == [tokens[3], tokens[4]]


def test_without_a_checked_row_nothing_is_changed(admin_client):
    tokens = ApiTokenFactory.create_batch(2)

    page = open_for_all(admin_client, tokens)
    done = confirm(admin_client, page, confirmed="")

    text = "No rows were selected, or they no longer exist. Nothing was changed."
    assert text in done.content.decode()
    assert unrevoked() == tokens


def test_an_only_row_has_no_check_box(admin_client):
    token = ApiTokenFactory()

    page = open_confirmation_on_page(admin_client, MODEL, "revoke", token)

    assert check_boxes(page) == []
    confirm(admin_client, page)
    assert unrevoked() == []


@pytest.mark.parametrize("action", ["revoke", "rotate", "delete_selected"])
def test_the_page_says_how_many_tokens_are_in_use(admin_client, action):
    tokens = [ApiTokenFactory(recently_used=True), *ApiTokenFactory.create_batch(2)]
    ApiToken.objects.filter(pk=tokens[2].pk).update(
        last_used_at=tokens[2].created_at.replace(year=2020)
    )

    page = open_confirmation(admin_client, MODEL, action, *tokens).content.decode()

    assert "Used in the last 24 hours: 1 of 3." in page
