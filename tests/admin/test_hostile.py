"""Requests that no form sends get no server error.

``everything`` is a fixture: a dict with an object of each model.
"""

import logging

import pytest
from django.contrib.admin.views.main import ERROR_FLAG
from django.contrib.contenttypes.models import ContentType

from tests.admin.actions import url
from tests.admin.test_lists import MODELS
from tests.usergroups.factories import TeamFactory

pytestmark = pytest.mark.django_db

BAD = ["zzz", "%00", "-1", "99999999999999999999999", ""]

FILTERS = [
    "state",
    "read_only__exact",
    "user_group__id__exact",
    "collection__id__exact",
    "team__id__exact",
    "environment__exact",
]


@pytest.mark.parametrize("model", MODELS)
def test_a_list_accepts_any_value_of_a_filter(admin_client, everything, model):
    for name in FILTERS:
        for value in BAD:
            response = admin_client.get(url(f"{model}_changelist") + f"?{name}={value}")
            assert response.status_code in (200, 302, 400), (name, value)


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        ("usergroups_usergroup", "token__startswith"),
        ("usergroups_apitoken", "digest"),
        ("bookmarks_bookmark", "user_group__token__startswith"),
        ("usergroups_usergroup", "environment__regex"),
        ("usergroups_usergroup", "team"),
        ("usergroups_event", "actor__contains"),
        ("usergroups_event", "user_group__name__contains"),
    ],
)
def test_a_list_refuses_lookups_that_no_filter_has(
    admin_client, everything, model, lookup
):
    assert (
        admin_client.get(url(f"{model}_changelist") + f"?{lookup}=u").status_code == 400
    )


FIELDS = [
    "user_group",
    "team",
    "collection",
    "name",
    "environment",
    "expires_at",
    "url",
    "mapping",
    "title",
    "digest",
    "id",
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("value", BAD)
def test_a_form_accepts_any_initial_value_and_any_key(
    admin_client, everything, model, value
):
    initial = "&".join(f"{field}={value}" for field in FIELDS)

    assert admin_client.get(url(f"{model}_add") + f"?{initial}").status_code == 200
    for name in ("_changelist_filters", "_popup", "_to_field"):
        assert admin_client.get(
            url(f"{model}_add") + f"?{name}={value}"
        ).status_code in (200, 400), name
    for page in ("change", "delete", "history"):
        # reverse() would escape "%00"
        address = url(f"{model}_{page}", "key").replace("key", value or "_")
        assert admin_client.get(address).status_code in (200, 302, 400, 404), page
        assert admin_client.post(address).status_code in (
            200,
            302,
            400,
            404,
            405,
        ), page


FORM_FIELDS = [
    "user_group",
    "team",
    "collection",
    "name",
    "provided_id",
    "url",
    "title",
    "environment",
    "mapping",
    "properties",
    "expires_at",
    "lifetime",
    "initial-name",
    "read_only",
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("value", ["zzz", "\0", "9" * 30])
def test_a_form_can_be_submitted_with_any_value_in_its_fields(
    admin_client, everything, model, value
):
    """Send all fields together, and then some alone, with which a form may be
    valid and is saved.
    """
    for address in (url(f"{model}_add"), url(f"{model}_change", everything[model].pk)):
        for fields in (FORM_FIELDS, ["name"], ["title"], ["mapping"], ["expires_at"]):
            assert admin_client.post(
                address, dict.fromkeys(fields, value)
            ).status_code in (200, 302), fields


def test_the_autocompletion_accepts_any_query(admin_client, everything):
    for app, model, field in (
        ("bookmarks", "bookmark", "user_group"),
        ("bookmarks", "bookmark", "collection"),
        ("usergroups", "usergroup", "team"),
    ):
        for value in BAD:
            for query in (
                f"term={value}",
                f"term=&page={value}",
                f"term=&of_user_group={value}",
            ):
                address = f"{url('autocomplete')}?app_label={app}&model_name={model}&field_name={field}&{query}"
                assert admin_client.get(address).status_code in (200, 400, 404), query
    for query in (
        "",
        "app_label=x",
        "app_label=bookmarks&model_name=bookmark&field_name=url",
    ):
        assert admin_client.get(f"{url('autocomplete')}?{query}").status_code == 403


@pytest.mark.parametrize("value", ["'", "zzz", "\0", "-1", "9" * 30])
def test_import_and_export_refuse_an_invalid_user_group(admin_client, value):
    query = {"user_group": value, "format": "html"}

    assert admin_client.post(url("bookmarks_bookmark_import"), query).status_code == 200
    assert admin_client.get(url("bookmarks_bookmark_export"), query).status_code == 404


@pytest.mark.parametrize("query", ["{}=1", "_to_field={}"])
def test_a_secret_in_an_address_is_not_logged(admin_client, everything, caplog, query):
    token = everything["usergroups_apitoken"]

    for page in ("changelist", "add"):
        admin_client.get(
            url(f"usergroups_team_{page}") + "?" + query.format(token.secret)
        )

    assert token.secret not in caplog.text
    # The settings turn off the loggers whose messages quote the query string.
    for name in ("DisallowedModelAdminLookup", "DisallowedModelAdminToField"):
        assert not logging.getLogger(f"django.security.{name}").isEnabledFor(
            logging.ERROR
        )


@pytest.mark.parametrize("model", ["auth_group", "auth_user"])
@pytest.mark.parametrize("key", ["zzz", "\0", ""])
def test_an_action_on_accounts_and_roles_accepts_any_selection(
    admin_client, model, key
):
    sent = {"action": "delete_selected", "_selected_action": [key], "index": "0"}

    assert admin_client.post(url(f"{model}_changelist"), sent).status_code == 302


@pytest.mark.parametrize("model", MODELS)
def test_an_action_accepts_any_selection(admin_client, everything, model):
    for action in (
        "delete_selected",
        "revoke",
        "rotate",
        "rotate_token",
        "nothing",
        "",
    ):
        for key in ("zzz", "\0", "9" * 30, ""):
            sent = {"action": action, "_selected_action": [key], "index": "0"}
            address = url(f"{model}_changelist")
            response = admin_client.post(address, sent, follow=True)
            assert response.status_code in (200, 400), (action, key)


def test_a_confirmation_accepts_any_keys(admin_client, everything):
    for keys in ("zzz", "\0", ",".join(str(number) for number in range(300_000))):
        response = admin_client.post(
            url("usergroups_team_confirm") + "?action=delete_selected",
            {"confirmed": keys},
        )
        assert response.status_code in (200, 302), keys[:10]


def test_an_invalid_filter_causes_no_error_even_with_djangos_error_flag(
    admin_client, everything
):
    response = admin_client.get(
        url("usergroups_usergroup_changelist"),
        {"team__id__exact": "9" * 30, ERROR_FLAG: "1"},
    )

    # PostgreSQL finds no row for the number, and SQLite refuses it.
    assert response.status_code in (200, 302)


@pytest.mark.parametrize("key", ["abc", "9" * 30])
def test_rows_have_no_page_outside_the_admin(admin_client, everything, key):
    content_type = ContentType.objects.get_for_model(everything["bookmarks_bookmark"])

    # Django's view_on_site
    assert admin_client.get(f"/admin/r/{content_type.pk}/{key}/").status_code in (
        302,
        404,
    )


def test_the_autocompletion_finds_nothing_for_a_null_character(admin_client):
    TeamFactory()
    query = "?app_label=usergroups&model_name=event&field_name=team&term=%00"

    assert admin_client.get(url("autocomplete") + query).json()["results"] == []
