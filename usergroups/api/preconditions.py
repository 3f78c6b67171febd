"""The ETag of an object, and the precondition If-Match."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.utils.http import parse_etags
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from .errors import BadRequest

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

MAX_ETAGS = 100

# A server or a middleware that compresses responses makes an ETag weak, with
# "W/". The ETag is that of the object, not of the bytes of a response, so it
# still matches. 14 digits last until the year 4253.
_ETAG = re.compile(r'(?:W/)?"([0-9a-f]{1,14})"')


class PreconditionFailed(APIException):
    status_code = 412
    default_code = "precondition_failed"
    default_detail = (
        "The object has changed, so its ETag does not match If-Match. Read it again."
    )


def etag(updated_at: datetime) -> str:
    """Return the ETag of an object that was last changed at this time: the
    microseconds since 1970, in hexadecimal.
    """
    return f'"{(updated_at - EPOCH) // MICROSECOND:x}"'


def version_of(entity_tag: str) -> datetime | None:
    """Return the ``updated_at`` of the object that has this ETag, or None if
    no object has it.
    """
    match = _ETAG.fullmatch(entity_tag)
    if match is None:
        return None
    return EPOCH + int(match[1], 16) * MICROSECOND


def accepted_versions(request: Request) -> Sequence[datetime] | None:
    """Return the values of ``updated_at`` that If-Match accepts, or None for
    any.

    An invalid ETag matches no value. Raises BadRequest if there are more than
    MAX_ETAGS.
    """
    header = request.META.get("HTTP_IF_MATCH")
    if header is None or header.strip() == "*":
        return None
    if header.count(",") >= MAX_ETAGS:
        raise BadRequest(f"If-Match has more than {MAX_ETAGS} ETags.")
    versions = map(version_of, parse_etags(header))
    return [*filter(None, versions)]
