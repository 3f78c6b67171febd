"""The export of a file."""

from typing import Any

from django.http import StreamingHttpResponse

from bookmarks import openapi, serializers
from bookmarks.exports import Download, record_export
from bookmarks.files import MEDIA_TYPES
from usergroups.api.requests import APIRequest

from .access_token_view import AccessTokenView


class ExportView(AccessTokenView):
    request_serializers = {"GET": serializers.ExportQuery}
    costly_methods = ("GET",)

    @openapi.export_bookmarks
    def get(self, request: APIRequest) -> StreamingHttpResponse:
        filters = {**self.validated_data}
        format_name = filters.pop("format")
        disposition = f'attachment; filename="bookmarks.{format_name}"'
        options: dict[str, Any] = {
            "content_type": f"{MEDIA_TYPES[format_name]}; charset=utf-8",
            "headers": {"Content-Disposition": disposition},
        }
        if request.method == "HEAD":
            return StreamingHttpResponse(**options)
        # The parameter is empty.
        if "collection" in filters and filters["collection"] is None:
            filters["without_collections"] = True
        # The thread cannot write until the download ends.
        record_export(self.user_group, format_name)
        download = Download(self.user_group, format_name, request.deadline, **filters)
        # It is a call in progress until then.
        download.closing.callback(self.keep_counting())
        return StreamingHttpResponse(download, **options)
