"""The import and the export of a file."""

from io import BytesIO
from typing import Any

from django.http import StreamingHttpResponse
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import conf
from bookmarks.views import AccessTokenView
from usergroups.contract.files import download
from usergroups.contract.requests import content_length, read_body
from usergroups.tokens.concurrency import file_transfer
from usergroups.tokens.openapi import missing

from . import BINARY, EXPORT_FORMATS, FORMATS_BY_TYPE, MEDIA_TYPES, openapi, read
from .encodings import lookup
from .exporting import load
from .importing import store
from .report import Report
from .serializers import ExportQuery, ImportEnvelope, ImportQuery


class ImportView(AccessTokenView):
    methods_with_query = ("POST",)
    request_serializers = {"POST": ImportQuery}
    response_serializers = {"POST": ImportEnvelope}

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
        query = self.validated(find_collection=self.find_collection)
        with file_transfer(self.user_group):
            file, report = BytesIO(read_body(request, limit)), Report()
            records = read(file, name, encoding, limit)
            store(self.user_group, records, report, query.get("collection"), query["update"])
        return self.respond({"report": report})


class ExportView(AccessTokenView):
    request_serializers = {"GET": ExportQuery}

    @openapi.export_bookmarks
    def get(self, request: Request) -> StreamingHttpResponse:
        query = self.validated(find_collection=self.find_collection)
        name = query["format"]
        options: dict[str, Any] = {
            "content_type": f"{MEDIA_TYPES[name]}; charset=utf-8",
            "headers": {"Content-Disposition": f'attachment; filename="bookmarks.{name}"'},
        }
        if request.method == "HEAD":
            return StreamingHttpResponse(**options)
        text = EXPORT_FORMATS[name].write(load(self.user_group, query.get("collection")))
        return download((piece.encode() for piece in text), file_transfer(self.user_group), **options)
