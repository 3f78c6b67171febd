"""Save when and by which client a token was last used."""

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.core.cache.backends.locmem import LocMemCache
from django.db import Error, router, transaction
from django.db.models import Q
from django.http import HttpRequest
from rest_framework.request import Request

from usergroups.contract.errors import release_cursors

from .addresses import address_of
from .secret_format import redact

if TYPE_CHECKING:
    from .models import Token

logger = logging.getLogger(__name__)

PRECISION = timedelta(minutes=1)
MAX_ADDRESS_LENGTH = 39  # of an IPv6 address
MAX_AGENT_LENGTH = 255

attempts = LocMemCache("usergroups.last_use", {"timeout": PRECISION.total_seconds(), "max_entries": 10_000})
"""The digests of tokens whose last use is being saved, or could not be saved within the last minute.

Each process has its own cache, whatever the project's CACHES setting says. Its size is bounded, its entries expire, and
``add()`` lets only one of several threads proceed.
"""


def write(token: "Token", now: datetime, request: HttpRequest | Request | None) -> None:
    """Save that the request uses the token now, unless a use within the last minute has been saved.

    On PostgreSQL, this never waits for another transaction. On SQLite, it waits for the writer, as every write does. An
    error is logged and not raised, and this process does not try again for a minute.
    """
    stale = now - PRECISION
    key = bytes(token.digest).hex()
    if not attempts.add(key, None):
        return
    tokens = type(token).objects.using(router.db_for_write(type(token), instance=token))
    unused = tokens.filter(Q(last_used_at=None) | Q(last_used_at__lte=stale), pk=token.pk)
    # Skip the row if another transaction has locked it. SQLite has no row locks and ignores this.
    unlocked = unused.select_for_update(skip_locked=True, no_key=True)
    try:
        with transaction.atomic(using=tokens.db):
            written = tokens.filter(pk__in=unlocked.values("pk")).update(last_used_at=now, **client_of(request))
    except Error as error:
        logger.warning("Could not write the last use of the token %s", token.hint, exc_info=True)
        release_cursors(error)
    else:
        if written:
            attempts.delete(key)


def client_of(request: HttpRequest | Request | None) -> dict[str, str]:
    """Return the fields of a token that describe the client. They are empty if there is no request."""
    if request is None:
        return {"last_used_address": "", "last_used_agent": ""}
    agent = clean_text(request.META.get("HTTP_USER_AGENT", ""))
    return {"last_used_address": address_of(request) or "", "last_used_agent": agent[:MAX_AGENT_LENGTH]}


def clean_text(header: str) -> str:
    """Return the text of a header on one line, without invisible characters and without what may be a secret."""
    text = header.encode("latin-1", "replace").decode(errors="replace")  # Servers decode headers as Latin-1.
    visible = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(redact(visible).split())
