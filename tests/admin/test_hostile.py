"""What no form sends: it is refused, and nothing fails."""

import logging

import pytest
from django.contrib.contenttypes.models import ContentType

from tests.admin.actions import url
from tests.admin.test_lists import MODELS

pytestmark = pytest.mark.django_db

BAD = ["zzz", "%00", "-1", "99999999999999999999999", "%ff", ""]
NAMES = ["q", "p", "o", "e", "all", "state", "use", "read_only__exact", "user_group__id__exact",
         "collection__id__exact", "user_group__team__id__exact", "team__id__exact", "environment__exact",
         "created_at__gte", "environment", "id__in", "name", "url__icontains", "nothing", "user_group", "_popup",
         "_to_field", "_facets", "expires_at__lt", "digest", "created_at__isnull", "id__exact"]  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_a_list_accepts_any_query(admin_client, everything, model):
    for name in NAMES:
        for value in [*BAD, "0001-01-01+00:00:00%2B14:00", "9999-12-31+23:59:59-14:00"]:
            response = admin_client.get(url(f"{model}_changelist") + f"?{name}={value}")
            assert response.status_code in (200, 302, 400), (name, value)


@pytest.mark.parametrize("model", MODELS)
def test_a_form_accepts_any_initial_value_and_any_key(admin_client, everything, model):
    fields = ["user_group", "team", "collection", "name", "environment", "expires_at", "url", "mapping", "title",
              "digest", "id", "_changelist_filters", "_popup", "_to_field"]  # fmt: skip
    for value in [*BAD, "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00%2B23:59"]:
        for name in fields:
            response = admin_client.get(url(f"{model}_add") + f"?{name}={value}")
            assert response.status_code in (200, 400), (name, value)
        for page in ("change", "delete", "history"):
            address = url(f"{model}_{page}", "key").replace("key", value or "_")
            for method in ("get", "post"):
                assert getattr(admin_client, method)(address).status_code in (200, 302, 400, 404, 405), (page, value)


@pytest.mark.parametrize("model", MODELS)
def test_a_form_refuses_invalid_fields(admin_client, everything, model):
    for value in ["zzz", "\0", "9" * 30, "[]"]:
        names = ["user_group", "team", "collection", "name", "provided_id", "url", "title", "environment", "mapping",
                 "properties", "expires_at_0", "expires_at_1", "read_only"]  # fmt: skip
        for row in (None, everything[model]):
            address = url(f"{model}_change", row.pk) if row else url(f"{model}_add")
            for name in names:
                assert admin_client.post(address, {name: value}).status_code in (200, 302), (name, value)


@pytest.mark.parametrize("model", MODELS)
def test_an_action_accepts_any_selection(admin_client, everything, model):
    for action in ("delete_selected", "revoke", "rotate", "rotate_token", "nothing", ""):
        for key in ["zzz", "\0", "9" * 30, ""]:
            for fields in (
                {},
                {"index": "0"},
                {"select_across": "1"},
                {"confirmed": key},
                {"index": "x", "confirmed": key},
            ):
                sent = {"action": action, "_selected_action": [key], **fields}
                response = admin_client.post(url(f"{model}_changelist"), sent)
                assert response.status_code in (200, 302, 400), (action, key, fields)
    model_class = type(everything[model])
    assert model_class.objects.filter(pk=everything[model].pk).exists()


def test_the_autocompletion_accepts_any_query(admin_client, everything):
    for app, model, field in (("bookmarks", "bookmark", "user_group"), ("bookmarks", "bookmark", "collection"),
                              ("usergroups", "usergroup", "team")):  # fmt: skip
        for value in BAD:
            for query in (f"term={value}", f"term=&page={value}", f"term=&of_user_group={value}"):
                address = f"{url('autocomplete')}?app_label={app}&model_name={model}&field_name={field}&{query}"
                assert admin_client.get(address).status_code in (200, 400, 404), query
    for query in ("", "app_label=x", "app_label=bookmarks&model_name=bookmark&field_name=url"):
        assert admin_client.get(f"{url('autocomplete')}?{query}").status_code == 403


def test_import_and_export_refuse_invalid_fields(admin_client):
    for page in ("import", "export"):
        for value in ["'", "zzz", "\0", "-1", "9" * 30]:
            for name in ("user_group", "format"):
                address = url(f"bookmarks_bookmark_{page}")
                assert admin_client.post(address, {name: value}).status_code == 200


def test_long_queries_and_selections_do_not_fail(admin_client, everything):
    words = "+".join(f"w{n}" for n in range(1000))
    keys = ",".join(str(n) for n in range(300_000))

    assert admin_client.get(url("bookmarks_bookmark_changelist") + f"?q={words}").status_code == 200
    sent = {"action": "delete_selected", "_selected_action": "1", "select_across": "1", "confirmed": keys}
    assert admin_client.post(url("usergroups_team_changelist"), sent).status_code == 302


@pytest.mark.parametrize("key", ["abc", "9" * 30])
def test_rows_have_no_page_outside_the_admin(admin_client, everything, key):
    content_type = ContentType.objects.get_for_model(everything["bookmarks_bookmark"])

    assert admin_client.get(f"/admin/r/{content_type.pk}/{key}/").status_code in (302, 404)


def test_the_autocompletion_of_users_refuses_a_null_character(admin_client):
    query = "?app_label=admin&model_name=logentry&field_name=user&term=%00"

    assert admin_client.get(url("autocomplete") + query).status_code == 400


@pytest.mark.parametrize("query", ["{}=1", "_to_field={}"])
def test_a_secret_in_an_address_is_not_logged(admin_client, everything, caplog, query):
    token = everything["usergroups_apitoken"]

    for page in ("changelist", "add"):
        admin_client.get(url(f"usergroups_team_{page}") + "?" + query.format(token.secret))

    logged = [record for record in caplog.records if not record.name.startswith("django.security")]
    assert token.secret not in str([record.getMessage() for record in logged])
    for name in ("DisallowedModelAdminLookup", "DisallowedModelAdminToField"):
        assert not logging.getLogger(f"django.security.{name}").isEnabledFor(logging.ERROR)
