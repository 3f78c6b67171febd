"""The selection on the confirmation page of an action."""

import re

import pytest

from tests.admin.actions import (
    confirm,
    open_confirmation,
    open_confirmation_on_page,
    url,
)
from tests.bookmarks.factories import AccessTokenFactory
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.admin_tools.confirmations import ConfirmationForm
from usergroups.models import ApiToken, UserGroup

pytestmark = [pytest.mark.database_independent, pytest.mark.django_db]

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


def unrevoked():
    return list(ApiToken.objects.filter(revoked_at=None).order_by("pk"))


@pytest.mark.parametrize("select_across", ["0", "1"], ids=["some", "all"])
def test_a_row_that_is_not_checked_is_left_out(admin_client, select_across):
    tokens = ApiTokenFactory.create_batch(25)
    fields = {"select_across": select_across, "index": "0"}

    page = open_confirmation(admin_client, MODEL, "revoke", *tokens, **fields)

    keys = check_boxes(page)
    assert sorted(keys) == [token.pk for token in tokens]
    keys.remove(tokens[3].pk)
    late = ApiTokenFactory()
    done = confirm(admin_client, page, confirmed=[*keys, ""])
    assert "Revoked: 24.</li>" in done.content.decode()
    assert unrevoked() == [tokens[3], late]


def test_an_action_changes_a_limited_number_of_rows(admin_client, monkeypatch):
    monkeypatch.setattr(ConfirmationForm, "max_rows", 22)
    tokens = ApiTokenFactory.create_batch(25)

    page = open_for_all(admin_client, tokens)

    # The newest are first.
    assert check_boxes(page) == [token.pk for token in reversed(tokens[3:])]
    assert "Only the first 22 are included." in page.content.decode()
    assert "<summary>and 2 more</summary>" in page.content.decode()
    confirm(admin_client, page)
    assert unrevoked() == tokens[:3]


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
def test_the_page_says_which_tokens_are_in_use(admin_client, action):
    tokens = [ApiTokenFactory(recently_used=True), *ApiTokenFactory.create_batch(2)]
    ApiToken.objects.filter(pk=tokens[2].pk).update(
        last_used_at=tokens[2].created_at.replace(year=2020)
    )

    page = open_confirmation(admin_client, MODEL, action, *tokens)

    content = page.content.decode()
    # Without scripts, the number of listed tokens remains right when a box is
    # no longer checked. The heading and the button have no number.
    assert (
        "Listed</span>: <span>3</span> · used in the last 24 hours: <span>1<" in content
    )
    assert re.findall(r'value="(\d+)" id="row-\d+" data-used', content) == [
        str(tokens[0].pk)
    ]
    assert content.count("<strong>used in the last 24 hours</strong>") == 1
    assert not re.search(r"\d", page.context["title"])


def test_rotating_names_the_tokens_that_it_skips(admin_client):
    token, revoked = ApiTokenFactory(name="A"), ApiTokenFactory(name="B", revoked=True)

    page = open_confirmation(admin_client, MODEL, "rotate", token, revoked)
    done = confirm(admin_client, page, grace="24").content.decode()

    choices = re.findall(r'<option value="(\d+)"', page.content.decode())
    assert choices == ["0", "24", "168", "720"]  # hours
    skipped = "Not rotated, because only active tokens without a successor can be: "
    assert f"{skipped}{revoked}." in done
    assert f"{skipped}{token}" not in done


def test_deleting_a_customer_asks_for_the_name_and_says_what_is_in_use(admin_client):
    token = AccessTokenFactory(recently_used=True)
    AccessTokenFactory(user_group=token.user_group)
    model = "usergroups_usergroup"

    page = open_confirmation_on_page(
        admin_client, model, "delete_selected", token.user_group
    )
    refused = confirm(admin_client, page, name="Another")

    assert "Access tokens used in the last 24 hours: 1" in page.content.decode()
    assert "This is another name." in refused.content.decode()
    confirm(admin_client, page, name=token.user_group.name)
    assert not UserGroup.objects.exists()


def test_a_list_does_not_offer_actions_on_one_row(admin_client, user_group):
    page = admin_client.get(url("usergroups_usergroup_changelist")).content.decode()
    for action in ("reveal_token", "rotate_token"):
        assert action not in page

    # A forged form changes one row.
    asked = open_confirmation_on_page(
        admin_client, "usergroups_usergroup", "rotate_token", user_group
    )
    groups = [user_group, UserGroupFactory()]
    before = {group.token for group in groups}
    confirm(admin_client, asked, confirmed=[group.pk for group in groups])

    after = set(UserGroup.objects.values_list("token", flat=True))
    assert len(after - before) == 1
