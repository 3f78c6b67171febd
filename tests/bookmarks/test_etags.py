"""ETags of single objects, and conditional requests with If-Match."""

import pytest
from django.urls import reverse
from django.utils import timezone

from bookmarks.models import Bookmark, Collection
from tests.answers import detail, error_code, etag_of
from tests.conftest import Caller
from tests.operations import OPERATIONS, USER_GROUP, WITH_AN_ETAG, WITH_IF_MATCH, caller
from tests.queries import concurrently
from usergroups.models import UserGroup

MODELS = {"user group": UserGroup, "bookmark": Bookmark, "collection": Collection}


@pytest.fixture(params=WITH_IF_MATCH)
def write(request, api_client, user_group):
    """Return a function that calls an operation with an If-Match header, and
    that changes the object if the operation is an update.

    ``write.row()`` returns the stored object.
    """
    named = OPERATIONS[request.param].object_in_path or USER_GROUP
    call = caller(api_client, user_group, request.param)
    changes = {
        "update_user_group": {"user_group_id": user_group.provided_id, "name": "New"},
        "update_bookmark": {"title": "New"},
        "update_collection": {"name": "New"},
    }
    # A deletion has no body.
    body = changes.get(request.param, b"")

    def make(if_match):
        return call(body, HTTP_IF_MATCH=if_match)

    make.row = MODELS[named.kind].objects.first
    return make


@pytest.mark.parametrize("name", WITH_AN_ETAG)
def test_an_answer_with_one_object_has_its_etag(
    api_client, user_group, valid_body, name
):
    response = caller(api_client, user_group, name)(valid_body)

    rows = MODELS[OPERATIONS[name].returns].objects.all()
    assert response.status_code in (200, 201)
    assert response["ETag"] in [etag_of(row.updated_at) for row in rows]


@pytest.mark.parametrize(
    "value", ["{etag}", "*", '"0", {etag}', 'W/"1", "2",{etag}', "W/{etag}"]
)
def test_a_matching_etag_permits_the_change(write, value):
    before = write.row()

    response = write(value.format(etag=etag_of(before.updated_at)))

    assert response.status_code == 200
    after = write.row()
    # None after a deletion
    assert after is None or after.updated_at > before.updated_at


def test_if_match_has_at_most_100_etags(write):
    before = write.row()
    others = ", ".join(f'"{number:x}"' for number in range(99))

    refused = write(f'{others}, "0", {etag_of(before.updated_at)}')
    assert error_code(refused, 400) == "bad_request"
    assert detail(refused) == "If-Match has more than 100 ETags."
    assert write.row().updated_at == before.updated_at
    assert write(f"{others}, {etag_of(before.updated_at)}").status_code == 200


def test_the_number_of_etags_is_checked_after_the_fields_and_before_the_object(
    api_client, access_token
):
    url = reverse("bookmarks:bookmark", args=["unknown"])
    change = Caller(api_client, "PATCH", url, "Bearer", access_token)
    too_many = ", ".join(["*"] * 101)

    assert error_code(change({"title": 5}, HTTP_IF_MATCH=too_many), 400) == "invalid"
    refused = change({"title": "A"}, HTTP_IF_MATCH=too_many)
    assert error_code(refused, 400) == "bad_request"


def test_any_other_value_refuses_the_change(write):
    before = write.row()
    # An ETag of this service has at most 14 digits.
    long = [f'"{"f" * 14}"', f'"{"f" * 15}"']

    for value in ['"0"', "", 'W/"0"', "etag", '"', *long, "\xff"]:
        assert error_code(write(value), 412) == "precondition_failed"
    assert write.row().updated_at == before.updated_at


def test_a_missing_object_is_answered_with_404_instead_of_412(write):
    etag = etag_of(write.row().updated_at)
    type(write.row()).objects.all().delete()

    assert error_code(write(etag), 404).endswith("_not_found")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("name", "model", "field"),
    [("update_user_group", UserGroup, "name"), ("delete_bookmark", Bookmark, "title")],
)
def test_a_change_right_before_the_write_is_not_lost(
    api_client, user_group, name, model, field
):
    # The deletion first reads the row, and locks it.
    statement = {"name": "UPDATE", "title": "SELECT"}[field]
    call = caller(api_client, user_group, name)
    body = {"user_group_id": user_group.provided_id, "name": "New"}
    etag = etag_of(model.objects.get().updated_at)

    def change():
        model.objects.update(**{field: "Other", "updated_at": timezone.now()})

    with concurrently(f'{statement} "{model._meta.db_table}"', change):
        response = call(body, HTTP_IF_MATCH=etag)

    assert error_code(response, 412) == "precondition_failed"
    assert getattr(model.objects.get(), field) == "Other"
