"""The media types of files over HTTP."""

MEDIA_TYPES = {"html": "text/html", "jsonl": "application/jsonl", "csv": "text/csv", "json": "application/json"}
"""The media type of each format."""

BINARY = "application/octet-stream"
"""The media type of files in any format."""

FORMATS_BY_TYPE = {
    **{media_type: name for name, media_type in MEDIA_TYPES.items()},
    "application/x-ndjson": "jsonl",
    "application/jsonlines": "jsonl",
}
"""The format of each media type, including those that other programs use."""
