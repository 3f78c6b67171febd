"""The maximum size of a form, which is checked before Django reads it."""

import pytest
from django.urls import reverse

pytestmark = [pytest.mark.database_independent, pytest.mark.django_db]

KIB = 1024
IMPORT_SIZE = 100_000


def post(client, url_name, size):
    """Send a form of ``size`` bytes."""
    body = b"a" * size
    return client.post(
        reverse(f"admin:{url_name}"),
        body,
        content_type="application/x-www-form-urlencoded",
    )


ANONYMOUS = {"login": 64 * KIB, "index": 64 * KIB, "usergroups_usergroup_add": 64 * KIB}
OPERATORS = {
    "auth_user_add": 2560 * KIB,
    "usergroups_team_changelist": 2560 * KIB,
    "usergroups_usergroup_add": 8 * KIB * KIB,
    "bookmarks_bookmark_import": IMPORT_SIZE + KIB * KIB,
}


def is_refused(response):
    too_large = "The form is too large" in response.content.decode()
    assert too_large == (response.status_code == 413)
    return too_large


@pytest.mark.parametrize(("url_name", "limit"), ANONYMOUS.items())
def test_a_form_without_a_session_is_small(client, url_name, limit):
    assert not is_refused(post(client, url_name, limit))

    response = post(client, url_name, limit + 1)
    assert is_refused(response)
    # no public name says that nothing was read
    assert not response.wsgi_request._read_started


@pytest.mark.parametrize(("url_name", "limit"), OPERATORS.items())
def test_a_form_of_an_operator_is_as_large_as_its_page_needs(
    admin_client, settings, url_name, limit
):
    settings.BOOKMARKS_MAX_IMPORT_SIZE = IMPORT_SIZE

    assert not is_refused(post(admin_client, url_name, limit))

    response = post(admin_client, url_name, limit + 1)
    assert is_refused(response)
    assert not response.wsgi_request._read_started


def test_a_session_that_has_ended_allows_only_a_small_form(admin_client):
    admin_client.session.flush()

    assert is_refused(post(admin_client, "usergroups_usergroup_add", 64 * KIB + 1))


@pytest.mark.parametrize("length", ["", "x"])
def test_a_form_of_unknown_length_is_empty(client, length):
    response = client.post(
        reverse("admin:login"), {"username": "operator"}, CONTENT_LENGTH=length
    )

    assert response.status_code == 200
    assert response.wsgi_request.POST == {}
