"""The address of the client, behind trusted proxies.

Failed authentications and failed logins are counted by it, and the last use of
a token is recorded with it.
"""

from ipaddress import IPv6Address, ip_address

from django.http import HttpRequest
from rest_framework.request import Request

from . import conf


def address_of(request: HttpRequest | Request) -> str | None:
    """Return the address of the client, as the outermost trusted proxy saw it,
    or None if it is unknown.

    For IPv6 this is the first address of the /64 network, since a client
    usually has a whole network. An IPv4-mapped address counts as the IPv4
    address. The address is unknown if it is not valid, for example because it
    has a port, if X-Forwarded-For has fewer addresses than there are trusted
    proxies or, without any, if the server listens on a Unix socket. API
    clients with unknown addresses must not share a rate limit.
    """
    proxies = conf.trusted_proxies()
    try:
        if proxies > 0:
            # Each proxy appends the address that it sees. Addresses before
            # those of the trusted proxies may be forged.
            hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
            text = hops[-proxies].strip()
        else:
            text = request.META.get("REMOTE_ADDR") or ""
        address = ip_address(text)
    except (IndexError, ValueError):
        return None
    if isinstance(address, IPv6Address):
        # Set the last 64 bits to zero.
        network = IPv6Address(int(address) >> 64 << 64)
        return str(address.ipv4_mapped or network)
    return str(address)
