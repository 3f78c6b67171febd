"""Requests that no form sends get no server error.

``everything`` is a fixture: a dict with an object of each model.
"""

import logging

import pytest
from django.contrib.admin.views.main import ERROR_FLAG

from tests.admin.actions import url
from tests.admin.test_lists import MODELS

pytestmark = pytest.mark.django_db

ENCODED = ["zzz", "%00", "-1", "99999999999999999999999", ""]
"""Values for a query string."""
VALUES = ["zzz", "\0", "9" * 30]

FILTERS = [
    "state",
    "read_only__exact",
    "user_group__id__exact",
    "collection__id__exact",
    "team__id__exact",
    "environment__exact",
]
FIELDS = ["user_group", "team", "collection", "name", "provided_id", "url", "title"]
FIELDS += ["environment", "mapping", "properties", "expires_at", "lifetime"]
FIELDS += ["initial-name", "read_only", "digest", "id"]


def check(response):
    assert response.status_code < 500, response.request["QUERY_STRING"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("value", ENCODED)
def test_a_list_and_a_form_accept_any_parameter(admin_client, everything, model, value):
    initial = "&".join(f"{field}={value}" for field in FIELDS)

    for name in FILTERS:
        check(admin_client.get(url(f"{model}_changelist") + f"?{name}={value}"))
    assert admin_client.get(url(f"{model}_add") + f"?{initial}").status_code == 200
    for name in ("_changelist_filters", "_popup", "_to_field"):
        check(admin_client.get(url(f"{model}_add") + f"?{name}={value}"))
    for page in ("change", "delete", "history"):
        # reverse() would escape "%00"
        address = url(f"{model}_{page}", "key").replace("key", value or "_")
        check(admin_client.get(address))
        check(admin_client.post(address))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("value", VALUES)
def test_a_form_can_be_submitted_with_any_value_in_its_fields(
    admin_client, everything, model, value
):
    """Send all fields together, and then some alone, with which a form may be
    valid and is saved.
    """
    for address in (url(f"{model}_add"), url(f"{model}_change", everything[model].pk)):
        for fields in (FIELDS, ["name"], ["title"], ["mapping"], ["expires_at"]):
            check(admin_client.post(address, dict.fromkeys(fields, value)))


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
    page = admin_client.get(url(f"{model}_changelist") + f"?{lookup}=u")

    assert page.status_code == 400


@pytest.mark.parametrize(
    "field",
    [
        "app_label=bookmarks&model_name=bookmark&field_name=user_group",
        "app_label=bookmarks&model_name=bookmark&field_name=collection",
        "app_label=usergroups&model_name=event&field_name=team",
    ],
)
def test_the_autocompletion_accepts_any_query(admin_client, everything, field):
    for value in ENCODED:
        for query in (f"term={value}", f"page={value}", f"of_user_group={value}"):
            check(admin_client.get(f"{url('autocomplete')}?{field}&{query}"))
    nothing = admin_client.get(f"{url('autocomplete')}?{field}&term=%00")
    assert nothing.json()["results"] == []


@pytest.mark.parametrize(
    "query",
    ["", "app_label=x", "app_label=bookmarks&model_name=bookmark&field_name=url"],
)
def test_the_autocompletion_of_an_unknown_field_is_refused(admin_client, query):
    assert admin_client.get(f"{url('autocomplete')}?{query}").status_code == 403


@pytest.mark.parametrize("value", ["'", "-1", *VALUES])
def test_import_and_export_refuse_an_invalid_user_group(admin_client, value):
    query = {"user_group": value, "format": "html"}

    assert admin_client.post(url("bookmarks_bookmark_import"), query).status_code == 200
    assert admin_client.get(url("bookmarks_bookmark_export"), query).status_code == 404


@pytest.mark.parametrize("query", ["{}=1", "_to_field={}"])
def test_a_secret_in_an_address_is_not_logged(admin_client, everything, caplog, query):
    secret = everything["usergroups_apitoken"].secret

    for page in ("changelist", "add"):
        admin_client.get(url(f"usergroups_team_{page}") + "?" + query.format(secret))

    assert secret not in caplog.text
    # The settings turn off the loggers whose messages quote the query string.
    for name in ("DisallowedModelAdminLookup", "DisallowedModelAdminToField"):
        logger = logging.getLogger(f"django.security.{name}")
        assert not logger.isEnabledFor(logging.ERROR)


@pytest.mark.parametrize(
    "model", ["usergroups_usergroup", "usergroups_apitoken", "auth_group", "auth_user"]
)
def test_an_action_accepts_any_selection(admin_client, everything, model):
    address = url(f"{model}_changelist")
    for action in ("delete_selected", "revoke", "rotate", "rotate_token", "nothing"):
        for key in [*VALUES, ""]:
            sent = {"action": action, "_selected_action": [key], "index": "0"}
            check(admin_client.post(address, sent, follow=True))


def test_a_confirmation_accepts_any_keys(admin_client, everything):
    address = url("usergroups_team_confirm") + "?action=delete_selected"
    for keys in ("zzz", "\0", ",".join(str(number) for number in range(300_000))):
        check(admin_client.post(address, {"confirmed": keys}))


def test_an_invalid_filter_causes_no_error_even_with_djangos_error_flag(admin_client):
    # PostgreSQL finds no row for the number, and SQLite refuses it.
    query = {"team__id__exact": "9" * 30, ERROR_FLAG: "1"}
    check(admin_client.get(url("usergroups_usergroup_changelist"), query))


@pytest.mark.parametrize("key", ["abc", "9" * 30])
def test_djangos_redirect_to_the_page_of_a_row_is_turned_off(admin_client, key):
    assert admin_client.get(f"/admin/r/1/{key}/").status_code == 404
