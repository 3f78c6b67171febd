"""The operations of the API that import and export a file: their serializers, documentation and views."""

from functools import partial
from io import BytesIO
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiRequest, OpenApiResponse
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, UnsupportedMediaType, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import conf
from bookmarks.exceptions import InvalidCollection
from bookmarks.openapi import COLLECTION
from bookmarks.serializers import CollectionField
from bookmarks.views import AccessTokenView
from usergroups.contract.fields import Envelope
from usergroups.contract.requests import read_body
from usergroups.tokens.openapi import missing, operation, success_response
from usergroups.tokens.throttling import expensive_call

from . import EXPORT_FORMATS, FORMATS, MEDIA_TYPES
from .encodings import lookup
from .exporting import download, load
from .importing import read, store
from .report import Report

FORMATS_BY_TYPE = {
    **{media_type: name for name, media_type in MEDIA_TYPES.items()},
    "application/x-ndjson": "jsonl",
    "application/jsonlines": "jsonl",
}
"""The format of each media type, including those that other programs use."""

ANY_FORMAT = "application/octet-stream"
"""The media type of files in any format."""


class ImportQuery(serializers.Serializer[Any]):
    """The query parameters of an import."""

    format = serializers.ChoiceField(
        choices=[*FORMATS], required=False, help_text="The format of the file. Default: that of the Content-Type."
    )
    collection = CollectionField(
        required=False,
        help_text="The id of the collection for all bookmarks. Default: the collections that the file names.",
    )
    update = serializers.BooleanField(  # type: ignore[assignment]  # Serializer.update is for saving
        default=False, help_text="Whether existing bookmarks get the titles and the dates that the file has for them."
    )


class RefusalSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(help_text="An explanation for people; its wording may change.")
    count = serializers.IntegerField(help_text="The number of records that were refused for this reason.")
    lines = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="The numbers of the lines on which the first 10 of them begin, or of the bookmarks in a JSON file.",
    )


class LeftOutSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The name in the file, or `…` for all further ones after 100 names.")
    count = serializers.IntegerField(
        help_text="The number of bookmarks that have it; for `…`, the sum of these numbers."
    )


class ReportSerializer(serializers.Serializer[Any]):
    """What an import did."""

    created = serializers.IntegerField(help_text="The number of new bookmarks.")
    updated = serializers.IntegerField(help_text="The number of existing bookmarks that were changed.")
    existing = serializers.IntegerField(help_text="The number of existing bookmarks that were not changed.")
    refused = serializers.IntegerField(help_text="The number of records that were not imported.")
    refusals = RefusalSerializer(
        many=True, help_text="The refused records by reason. After 100 reasons, all others are counted together."
    )
    unusable_dates = serializers.IntegerField(
        help_text="The number of bookmarks whose date stands for no time in the past. They have the date of the import."
    )
    shortened = serializers.IntegerField(
        help_text="The number of titles and of names of collections, counted for each bookmark, that were shortened."
    )
    left_out = LeftOutSerializer(
        many=True, source="left_out_counts", help_text="What the file has and bookmarks have no place for."
    )
    error = serializers.CharField(
        allow_null=True,
        help_text="Why the import ended before the end of the file, or null. What came before was imported.",
    )


class ImportEnvelope(Envelope):
    report = ReportSerializer()


class ExportQuery(serializers.Serializer[Any]):
    """The query parameters of an export."""

    format = serializers.ChoiceField(choices=[*EXPORT_FORMATS], default="jsonl", help_text="The format of the file.")
    collection = CollectionField(required=False, help_text="Only the bookmarks in the collection with this id.")


file_operation = partial(operation, tags=["Files"])
FILE_NAME = OpenApiParameter("Content-Disposition", str, "header", description="The name of the file.", response=True)
INVALID_FORMAT = ValidationError({"format": [ErrorDetail('"xml" is not a valid choice.', "invalid_choice")]})
REPORT = {
    "created": 1204,
    "updated": 0,
    "existing": 31,
    "refused": 1,
    "refusals": [{"reason": "The URL has no scheme such as https://.", "count": 1, "lines": [88]}],
    "unusable_dates": 2,
    "shortened": 0,
    "left_out": [{"name": "tags", "count": 310}],
    "error": None,
}

EXAMPLES = {
    "html": '<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF="https://example.com/">Example</A>\n</DL>\n',
    "jsonl": '{"url": "https://example.com/", "title": "Example"}\n',
    "csv": "url,title\r\nhttps://example.com/,Example\r\n",
    "json": '[{"href": "https://example.com/", "description": "Example"}]',
}
"""A file in each format."""
OF_EXPORTS = {MEDIA_TYPES[name]: EXAMPLES[name] for name in EXPORT_FORMATS}

import_bookmarks = file_operation(
    operation_id="import_bookmarks",
    summary="Import a file",
    description=(
        "Takes a file of a browser, of another service or of an export as the body. The format is that of the "
        "Content-Type, which may also be `application/json`, `application/x-ndjson` or `application/jsonlines`. With "
        "`format`, the body may have any Content-Type. Its `charset` names the file's encoding. Existing bookmarks are "
        "not changed without `update`, so the same file can be imported again after any error. An invalid record does "
        "not affect the others.\n\n"
        "The size of the body is limited, also after it is decompressed. Send a larger file in parts of JSON Lines."
    ),
    query={"format": "html", "collection": COLLECTION["id"], "update": False},
    sent_file={
        media_type: OpenApiRequest(OpenApiTypes.BINARY, examples=[OpenApiExample("File", text)])
        for media_type, text in {**OF_EXPORTS, ANY_FORMAT: EXAMPLES["json"]}.items()
    },
    responses={200: success_response("What was imported.", report=REPORT)},
    failures=[INVALID_FORMAT, missing("format"), InvalidCollection()],
)

export_bookmarks = file_operation(
    operation_id="export_bookmarks",
    summary="Export a file",
    description=(
        "Returns the bookmarks of the user group, or of one of its collections, as a file in UTF-8: ordered by "
        "collection, the oldest first, beginning with those in no collection. An import of it into an empty user group "
        "restores the bookmarks, their collections and the order of both."
    ),
    parameters=[FILE_NAME],
    query={"format": "html", "collection": COLLECTION["id"]},
    responses={
        (200, media_type): OpenApiResponse(str, "The file.", [OpenApiExample("File", text, media_type=media_type)])
        for media_type, text in OF_EXPORTS.items()
    },
    failures=[INVALID_FORMAT, InvalidCollection()],
)


class ImportView(AccessTokenView):
    methods_with_query = ("POST",)
    request_serializers = {"POST": ImportQuery}
    response_serializers = {"POST": ImportEnvelope}

    @import_bookmarks
    def post(self, request: Request) -> Response:
        media_type = request.content_type.partition(";")[0].strip().lower()
        name = request.query_params.get("format", FORMATS_BY_TYPE.get(media_type))
        if name is None and media_type != ANY_FORMAT:
            raise UnsupportedMediaType(request.content_type)
        try:
            charset = (request.content_params or {}).get("charset")
            encoding = lookup(charset) if charset else None
        except ValueError:
            raise UnsupportedMediaType(request.content_type) from None
        limit = conf.max_import_size()
        file, report = BytesIO(read_body(request, limit)), Report()
        if name is None:
            raise missing("format")
        query = self.validated(find_collection=self.find_collection)
        with expensive_call(self.user_group):
            records = read(file, name, encoding, limit)
            store(self.user_group, records, report, query.get("collection"), query["update"])
        return self.respond({"report": report})


class ExportView(AccessTokenView):
    request_serializers = {"GET": ExportQuery}

    @export_bookmarks
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
        return download((chunk.encode() for chunk in text), expensive_call(self.user_group), **options)
