"""The import and the export of a file."""

from typing import BinaryIO

from django.db import IntegrityError
from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import bookmark_errors, conf, openapi, serializers
from bookmarks.exports import Download, record_export
from bookmarks.files import (
    ANY_FORMAT,
    FORMATS_BY_TYPE,
    MEDIA_TYPES,
    encoding_name,
    read,
)
from bookmarks.import_report import Report
from bookmarks.imports import StorageUnavailable, copied, store
from usergroups.api.errors import MissingField, failure
from usergroups.api.parsers import UnsupportedType, read_chunks
from usergroups.api.requests import APIRequest
from usergroups.api.serializers import Validated

from .access_token_view import AccessTokenView


class ImportView(AccessTokenView):
    methods_with_query = ("POST",)
    request_serializers = {"POST": serializers.ImportQuery}
    response_serializers = {"POST": serializers.ImportEnvelope}
    costly_methods = ("POST",)
    # such as that of a full disk
    errors = {**AccessTokenView.errors, OSError: StorageUnavailable}

    @openapi.import_bookmarks
    def post(self, request: APIRequest) -> Response:
        format_name = self.format_of(request)
        encoding = self.encoding_of(request)
        with copied(read_chunks(request, conf.max_import_size())) as file:
            # A file that is too large is refused whatever the parameters are.
            if format_name is None:
                raise MissingField("format")
            options = {**self.validated_data}
            # It has been found in the file if the query does not have it.
            options.pop("format", None)
            report = self.store_file(file, format_name, encoding, options)
        if not report.has_failed:
            return self.respond({"report": report})
        error = bookmark_errors.UnreadableImport(report.error)
        described = serializers.ReportSerializer(report).data
        return Response({**failure(error), "report": described}, error.status_code)

    def store_file(
        self,
        file: BinaryIO,
        format_name: str,
        encoding: str | None,
        options: Validated,
    ) -> Report:
        """Store the bookmarks of a file with these options of ``store``, and
        return the report.

        Raises IntegrityError if the collection is deleted before anything is
        stored.
        """
        report = Report()
        deadline = self.request.deadline
        records = read(file, format_name, encoding, limit=conf.max_import_size())
        try:
            store(self.user_group, records, report, **options, deadline=deadline)
        except IntegrityError:
            if report.has_no_bookmark or not self.has_lost_collection():
                raise
            # What was stored before the deletion of the collection stays.
            report.error = bookmark_errors.NO_SUCH_COLLECTION
        return report

    def format_of(self, request: Request) -> str | None:
        """Return the name of the format that the parameter or the Content-Type
        names, or None.

        Raises UnsupportedType.
        """
        media_type = request.content_type.partition(";")[0].strip().lower()
        format_name = request.query_params.get("format")
        if format_name is None:
            format_name = FORMATS_BY_TYPE.get(media_type)
        if format_name is None and media_type != ANY_FORMAT:
            raise UnsupportedType(request.content_type)
        return format_name

    def encoding_of(self, request: Request) -> str | None:
        """Return the encoding that the Content-Type names, or None.

        Raises UnsupportedType.
        """
        charset = (request.content_params or {}).get("charset")
        if not charset:
            return None
        try:
            return encoding_name(charset)
        except ValueError:
            raise UnsupportedType(request.content_type) from None


class ExportView(AccessTokenView):
    request_serializers = {"GET": serializers.ExportQuery}
    costly_methods = ("GET",)

    @openapi.export_bookmarks
    def get(self, request: APIRequest) -> StreamingHttpResponse:
        filters = {**self.validated_data}
        format_name = filters.pop("format")
        response = StreamingHttpResponse(
            content_type=f"{MEDIA_TYPES[format_name]}; charset=utf-8"
        )
        file_name = f'attachment; filename="bookmarks.{format_name}"'
        response["Content-Disposition"] = file_name
        if request.method == "HEAD":
            return response
        # The parameter is empty.
        if "collection" in filters and filters["collection"] is None:
            filters["without_collections"] = True
        # The thread cannot write until the download ends.
        record_export(self.user_group, format_name)
        download = Download(self.user_group, format_name, request.deadline, **filters)
        # It is a call in progress until then.
        download.closing.callback(self.keep_counting())
        response.streaming_content = download
        return response
