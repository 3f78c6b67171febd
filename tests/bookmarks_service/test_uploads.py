"""The admin reads large bodies only of operators who are logged in."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

pytestmark = pytest.mark.django_db

PATHS = ["/admin/login/", "/admin/", "/admin/bookmarks/bookmark/import/", "/admin/nothing-here"]


@pytest.mark.parametrize("path", PATHS)
def test_a_large_upload_without_a_login_is_refused_before_it_is_read(client, path):
    client.cookies["csrftoken"] = "a" * 32
    file = SimpleUploadedFile("large.html", b"a" * 100_000)

    response = client.post(path, {"file": file})

    assert response.status_code == 413
    assert "<h1>Log in first</h1>" in response.content.decode()
    assert not response.wsgi_request._read_started


def test_a_small_form_without_a_login_is_read(client):
    response = client.post(reverse("admin:login"), {"username": "operator", "password": "wrong"})

    assert response.status_code == 200


def test_an_operator_uploads_a_large_file(admin_client):
    file = SimpleUploadedFile("large.html", b"a" * 100_000)

    response = admin_client.post(reverse("admin:bookmarks_bookmark_import"), {"file": file})

    assert response.status_code == 200
