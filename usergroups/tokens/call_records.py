"""What a token keeps of its calls, written at most once a minute.

A call never waits for these writes: on PostgreSQL neither for another
transaction nor for a standby server, and on SQLite at most 100 ms for the
writer. An error is logged and not raised.
"""

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.core.cache.backends.locmem import LocMemCache
from django.db import Error, router
from django.db.models import Q
from django.http import HttpRequest
from rest_framework.request import Request

from usergroups.api.requests import address_of
from usergroups.db.waiting import atomic_without_waiting

from . import secret_format

if TYPE_CHECKING:
    from .models import Token

logger = logging.getLogger(__name__)

PRECISION = timedelta(minutes=1)

# the length of an IPv6 address
MAX_ADDRESS_LENGTH = 39
MAX_AGENT_LENGTH = 255

attempts = LocMemCache(
    "usergroups.call_records",
    {"timeout": PRECISION.total_seconds(), "max_entries": 10_000},
)
"""The fields and digests of tokens that are being written, or that could not
be written in the last minute.

Each process has its own cache, whatever the project's CACHES setting says. Its
size is bounded, its entries expire, and ``add()`` lets only one of several
threads proceed.
"""


def write_once_a_minute(
    token: "Token", time_field: str, now: datetime, **values: object
) -> None:
    """Store these values of a token, and the time ``now`` in the field
    ``time_field``, unless the row has a time within the last minute there.

    If the row is locked or an error occurs, this process does not try again
    for a minute.
    """
    attempt = f"{time_field}.{token.public_id}"
    # add() fails if another thread is writing, or has failed to within the
    # last minute.
    if not attempts.add(attempt, None):
        return
    model = type(token)
    tokens = model.objects.using(router.db_for_write(model, instance=token))
    is_outdated = Q((time_field, None)) | Q((f"{time_field}__lte", now - PRECISION))
    outdated = tokens.filter(is_outdated, pk=token.pk)
    # Skip the row if another transaction has locked it. SQLite has no row
    # locks and ignores this. ``no_key`` is the weaker lock that an UPDATE
    # takes.
    unlocked = outdated.select_for_update(skip_locked=True, no_key=True)
    rows = tokens.filter(pk__in=unlocked.values("pk"))
    try:
        with atomic_without_waiting(tokens.db):
            written = rows.update(**{time_field: now}, **values)
    except Error as error:
        # The next call after a minute writes it.
        kind = type(error).__name__
        logger.info(
            "Could not write %s of the token %s: %s", time_field, token.hint, kind
        )
        return
    if written:
        attempts.delete(attempt)


def client_of(request: HttpRequest | Request) -> dict[str, str]:
    """Return the fields of a token that describe the client."""
    header = request.META.get("HTTP_USER_AGENT", "")
    # Servers decode headers as Latin-1.
    text = header.encode("latin-1", "replace").decode(errors="replace")
    # PostgreSQL refuses U+0000, and a log or page should show one line.
    visible = "".join(
        character if character.isprintable() else " " for character in text
    )
    words = secret_format.redact(visible).split()
    agent = " ".join(words)
    return {
        "last_used_address": address_of(request) or "",
        "last_used_agent": agent[:MAX_AGENT_LENGTH],
    }
