"""What no form sends: it is refused, and nothing fails."""

import pytest

from tests.admin.actions import url
from tests.admin.test_lists import MODELS

pytestmark = pytest.mark.django_db

BAD = ["zzz", "%00", "-1", "99999999999999999999999", "%ff", ""]
NAMES = ["q", "p", "o", "e", "all", "state", "use", "read_only__exact", "user_group__id__exact",
         "collection__id__exact",
         "user_group__team__id__exact", "team__id__exact", "environment__exact", "created_at__gte", "id__in", "name",
         "url__icontains", "nothing", "user_group", "_popup", "_to_field", "_facets", "expires_at__lt", "digest",
         "created_at__isnull", "id__exact"]  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_a_list_takes_any_query(admin_client, everything, model):
    for name in NAMES:
        for value in [*BAD, "0001-01-01+00:00:00%2B14:00", "9999-12-31+23:59:59-14:00"]:
            response = admin_client.get(url(f"{model}_changelist") + f"?{name}={value}")
            assert response.status_code in (200, 302, 400), (name, value)


@pytest.mark.parametrize("model", MODELS)
def test_a_form_takes_any_initial_value_and_any_key(admin_client, everything, model):
    fields = ["user_group", "team", "collection", "name", "environment", "expires_at", "url", "mapping", "title",
              "_changelist_filters", "_popup", "_to_field"]  # fmt: skip
    for value in BAD:
        for name in fields:
            response = admin_client.get(url(f"{model}_add") + f"?{name}={value}")
            assert response.status_code in (200, 400), (name, value)
        for page in ("change", "delete", "history"):
            address = url(f"{model}_{page}", "key").replace("key", value or "_")
            for method in ("get", "post"):
                assert getattr(admin_client, method)(address).status_code in (200, 302, 400, 404, 405), (page, value)


@pytest.mark.parametrize("model", MODELS)
def test_a_form_refuses_any_bad_field(admin_client, everything, model):
    for value in ["zzz", "\0", "9" * 30, "[]"]:
        names = ["user_group", "team", "collection", "name", "provided_id", "url", "title", "environment", "mapping",
                 "properties", "expires_at_0", "expires_at_1", "read_only"]  # fmt: skip
        for row in (None, everything[model]):
            address = url(f"{model}_change", row.pk) if row else url(f"{model}_add")
            for name in names:
                assert admin_client.post(address, {name: value}).status_code in (200, 302), (name, value)


@pytest.mark.parametrize("model", MODELS)
def test_an_action_takes_any_selection(admin_client, everything, model):
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


def test_the_autocompletion_takes_any_query(admin_client, everything):
    for app, model, field in (("bookmarks", "bookmark", "user_group"), ("bookmarks", "bookmark", "collection"),
                              ("usergroups", "usergroup", "team")):  # fmt: skip
        for value in BAD:
            for query in (f"term={value}", f"term=&page={value}", f"term=&of_user_group={value}"):
                address = f"{url('autocomplete')}?app_label={app}&model_name={model}&field_name={field}&{query}"
                assert admin_client.get(address).status_code in (200, 404), query
    for query in ("", "app_label=x", "app_label=bookmarks&model_name=bookmark&field_name=url"):
        assert admin_client.get(f"{url('autocomplete')}?{query}").status_code == 403


def test_import_and_export_take_any_group(admin_client):
    for page in ("import", "export"):
        for value in ["'", "zzz", "\0", "-1", "9" * 30]:
            for name in ("user_group", "format"):
                address = url(f"bookmarks_bookmark_{page}")
                assert admin_client.post(address, {name: value}).status_code == 200
