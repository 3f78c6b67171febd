"""The login of operators, and the security headers of responses."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

pytestmark = [pytest.mark.database_independent, pytest.mark.django_db]

LOGIN = reverse("admin:login")
PASSWORD = "correct horse battery staple"


@pytest.fixture
def operator():
    return User.objects.create_superuser("operator", password=PASSWORD)


def log_in(password=PASSWORD, username="operator", address="192.0.2.1"):
    return Client(REMOTE_ADDR=address).post(
        LOGIN, {"username": username, "password": password, "next": "/admin/"}
    )


def test_an_address_is_locked_out_after_ten_failures(operator, settings):
    for _ in range(9):
        assert log_in("wrong").status_code == 200
    assert log_in("wrong", username="somebody else").status_code == 429

    locked_out = log_in()
    assert locked_out.status_code == 429
    assert timedelta(minutes=15) == settings.AXES_COOLOFF_TIME
    assert "Wait 15 minutes" in locked_out.content.decode()
    assert log_in(address="192.0.2.2").status_code == 302
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=16))
    assert log_in().status_code == 302


def change_password(client, old_password):
    new = dict.fromkeys(["new_password1", "new_password2"], "another battery staple")
    form = {"old_password": old_password, **new}
    return client.post(reverse("admin:password_change"), form)


def test_wrong_old_passwords_count_as_failed_logins(operator):
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.force_login(operator)

    statuses = [change_password(client, "wrong").status_code for _ in range(10)]

    assert statuses == [200] * 9 + [429]
    assert change_password(client, PASSWORD).status_code == 429
    assert log_in().status_code == 429
    operator.refresh_from_db()
    assert operator.check_password(PASSWORD)


def test_a_missing_old_password_is_not_a_failed_login(operator):
    client = Client()
    client.force_login(operator)

    assert [change_password(client, "").status_code for _ in range(11)] == [200] * 11


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [
        ("2001:db8::{}", "2001:db8::ffff", "2001:db8:0:1::1"),
        # as on a Unix socket, where all clients have the address ""
        ("", "", "192.0.2.1"),
    ],
    ids=["IPv6 network", "unknown addresses"],
)
def test_failures_of_several_clients_are_counted_together(
    operator, address, same, other
):
    statuses = [
        log_in("wrong", address=address.format(number)).status_code
        for number in range(10)
    ]

    assert statuses == [200] * 9 + [429]
    assert log_in(address=same).status_code == 429
    assert log_in(address=other).status_code == 302


def test_passwords_and_addresses_are_not_logged(operator, caplog):
    log_in("a wrong secret", username="operator")
    log_in()

    for secret in ("a wrong secret", PASSWORD, "192.0.2.1"):
        assert secret not in caplog.text
    assert "a wrong secret" not in str(AccessAttempt.objects.values())


HEADERS = {
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@pytest.mark.parametrize("path", ["/", "/admin/login/", "/schema/", "/api/user"])
def test_every_response_has_security_headers(client, path):
    response = client.get(path)

    assert {name: response[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize("path", ["/", "/admin/login/", "/docs/", "/schema/"])
def test_pages_have_a_content_security_policy(client, path):
    response = client.get(path)

    directives = response["Content-Security-Policy"].split("; ")
    policy = dict(each.split(" ", 1) for each in directives)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
