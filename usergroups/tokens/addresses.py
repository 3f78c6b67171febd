"""The client's address, for rate limits."""

import re
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

from django.http import HttpRequest
from rest_framework.request import Request

from usergroups.contract import conf

HOST = re.compile(r"\[(?P<in_brackets>.*)\](:\d+)?|(?P<before_port>[\d.]+):\d+", re.ASCII)


def address_of(request: HttpRequest | Request) -> str | None:
    """Return the address of the client, as the outermost trusted proxy saw it, or None if it is unknown.

    For IPv6 this is the first address of the /64 network, since a client usually has a whole network. The address is
    unknown if it is not valid, if X-Forwarded-For has fewer addresses than there are trusted proxies, or if the server
    listens on a Unix socket. Clients with unknown addresses must not share a rate limit.
    """
    proxies = conf.trusted_proxies()
    if not proxies:
        return normalize(request.META.get("REMOTE_ADDR") or "")
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    return normalize(hops[-proxies]) if len(hops) >= proxies else None


def normalize(text: str) -> str | None:
    """Return the IPv4 address, or the first address of the IPv6 /64 network, or None if the text is not an address.

    ``text`` may have a port, as in ``192.0.2.1:4711`` and ``[2001:db8::1]:4711``. IPv4-mapped addresses become IPv4
    addresses, and zone ids are removed.
    """
    host = text.strip()
    if match := HOST.fullmatch(host):
        host = match["in_brackets"] or match["before_port"] or ""
    with suppress(ValueError):
        return str(_network_address(ip_address(host)))
    return None


def _network_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv4Address):
        return address
    return address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64)
