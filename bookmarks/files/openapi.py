"""Documentation of the import and the export of a file."""

from rest_framework.exceptions import ErrorDetail, ValidationError

from bookmarks.exceptions import InvalidCollection
from bookmarks.openapi import COLLECTION
from usergroups.tokens.openapi import missing, operation, success_response

from . import BINARY, EXPORT_FORMATS, MEDIA_TYPES

TAGS = ["Files"]
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

import_bookmarks = operation(
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
    tags=TAGS,
    query={"format": "html", "collection": COLLECTION["id"], "update": False},
    sent_file={**OF_EXPORTS, BINARY: EXAMPLES["json"]},
    responses={200: success_response("What was imported.", report=REPORT)},
    failures=[INVALID_FORMAT, missing("format"), InvalidCollection()],
)

export_bookmarks = operation(
    operation_id="export_bookmarks",
    summary="Export a file",
    description=(
        "Returns the bookmarks of the user group, or of one of its collections, as a file in UTF-8: ordered by "
        "collection, the oldest first, beginning with those in no collection. An import of it into an empty user group "
        "restores the bookmarks, their collections and the order of both."
    ),
    tags=TAGS,
    query={"format": "html", "collection": COLLECTION["id"]},
    read_only=True,
    returned_file=OF_EXPORTS,
    responses={200: success_response("The file.")},
    failures=[INVALID_FORMAT, InvalidCollection()],
)
