"""The address that failures are counted by."""

import pytest
from django.test import RequestFactory

from usergroups.tokens.addresses import address_of

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::"),
        ("[2001:db8::1]:4711", "2001:db8::"),
        ("2001:db8:0:1::1", "2001:db8:0:1::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::"),
        ("", None),
        ("unknown", None),
        ("192.0.2.256", None),
        ("192.0.2.1:port", None),
        ("[2001:db8::1", None),
        ("\u0661.0.0.1", None),
        ("1" * 100_000, None),
    ],
)
def test_addresses_are_parsed_and_reduced_to_their_network(settings, sent, counted):
    settings.USERGROUPS_TRUSTED_PROXIES = 1

    assert address_of(RequestFactory(HTTP_X_FORWARDED_FOR=sent).get("/")) == counted
    settings.USERGROUPS_TRUSTED_PROXIES = 0
    assert address_of(RequestFactory(REMOTE_ADDR=sent).get("/")) == counted


@pytest.mark.parametrize(
    ("proxies", "forwarded", "counted"),
    [
        (0, "192.0.2.1", "127.0.0.1"),
        (1, "192.0.2.1, 192.0.2.2", "192.0.2.2"),
        (2, "192.0.2.1, 192.0.2.2", "192.0.2.1"),
        (2, "[2001:db8::1]:1,unknown", "2001:db8::"),
        (1, "192.0.2.1, unknown", None),
        (3, "192.0.2.1, 192.0.2.2", None),
    ],
)
def test_the_address_is_the_one_that_the_outermost_trusted_proxy_saw(settings, proxies, forwarded, counted):
    settings.USERGROUPS_TRUSTED_PROXIES = proxies

    assert address_of(RequestFactory(HTTP_X_FORWARDED_FOR=forwarded).get("/")) == counted
