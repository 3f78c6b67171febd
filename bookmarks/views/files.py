"""The import and the export of a file."""

import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from django.http import StreamingHttpResponse
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import conf
from bookmarks.files import EXPORT_FORMATS, read
from bookmarks.files.chunks import UserGroupDeleted
from bookmarks.files.encodings import lookup
from bookmarks.files.exporting import load
from bookmarks.files.importing import store
from bookmarks.files.media_types import BINARY, FORMATS_BY_TYPE, MEDIA_TYPES
from bookmarks.files.records import Records
from bookmarks.files.report import Report
from bookmarks.models import Collection
from bookmarks.openapi import files as openapi
from bookmarks.serializers.files import ExportQuery, ImportEnvelope, ImportQuery
from usergroups.contract.body import content_length, read_chunks
from usergroups.contract.links import link
from usergroups.contract.openapi import missing
from usergroups.contract.spooled_files import read_ahead, spooled
from usergroups.tokens.authentication import InvalidToken
from usergroups.tokens.concurrency import file_transfer

from .base import AccessTokenView

MAX_SECONDS = 20
"""How long a call goes on to store chunks. Proxies usually wait for 60 seconds.

Before that, the call skips the records that earlier calls have imported, and after that, it finishes a chunk.
"""
MAX_READING_SECONDS = 40
"""The time after which a call reads no further, for files that take long to read in proportion to their records."""


class ImportView(AccessTokenView):
    methods_with_query = ("POST",)
    request_serializers = {"POST": ImportQuery}
    response_serializers = {"POST": ImportEnvelope}
    errors = {**AccessTokenView.errors, UserGroupDeleted: InvalidToken}

    @openapi.import_bookmarks
    def post(self, request: Request) -> Response:
        media_type = request.content_type.partition(";")[0].strip().lower()
        name = request.query_params.get("format", FORMATS_BY_TYPE.get(media_type))
        if name is None and media_type != BINARY:
            raise UnsupportedMediaType(request.content_type)
        try:
            charset = (request.content_params or {}).get("charset")
            encoding = lookup(charset) if charset else None
        except ValueError:
            raise UnsupportedMediaType(request.content_type) from None
        limit = conf.max_import_size()
        content_length(request, limit)
        if name is None:
            raise missing("format")
        query = {"encoding": encoding, **self.validated(find_collection=self.find_collection)}
        with file_transfer(self.user_group), spooled(read_chunks(request, limit)) as file:
            report, start = self.store(file, name, query)
        rest = None if start is None else link(request, start=start)
        return self.respond({"report": report, "next": rest})

    def store(self, file: BinaryIO, name: str, query: dict[str, Any]) -> tuple[Report, int | None]:
        """Store records for MAX_SECONDS. Return the report, and the number of the first record of the rest, if any."""
        report, end = Report(), time.monotonic() + MAX_SECONDS
        reader = read(file, name, query["encoding"], conf.max_import_size(), MAX_READING_SECONDS)
        records = _after(query["start"], iter(reader))
        for chunk in store(self.user_group, records, query.get("collection"), query["update"]):
            report.add(chunk)
            if report.records and time.monotonic() > end:
                return report, query["start"] + report.records
        report.error = reader.error
        return report, None


def _after(number: int, records: Records) -> Records:
    """Yield the records after this number of them."""
    for record in records:
        if number and record is not None:
            number -= 1
        else:
            yield record


class ExportView(AccessTokenView):
    request_serializers = {"GET": ExportQuery}

    @openapi.export_bookmarks
    def get(self, request: Request) -> StreamingHttpResponse:
        query = self.validated(find_collection=self.find_collection)
        name = query["format"]
        blocks = self.blocks(name, query.get("collection"))
        if request.method == "HEAD":
            blocks = iter(())
        next(blocks, b"")  # Read the beginning, so that an error in it is a response.
        headers = {"Content-Disposition": f'attachment; filename="bookmarks.{name}"'}
        return StreamingHttpResponse(blocks, content_type=f"{MEDIA_TYPES[name]}; charset=utf-8", headers=headers)

    def blocks(self, name: str, collection: Collection | None) -> Iterator[bytes]:
        """Yield the blocks of the file, the first of which is empty."""
        with file_transfer(self.user_group):
            text = EXPORT_FORMATS[name].write(load(self.user_group, collection))
            yield from read_ahead(piece.encode() for piece in text)
