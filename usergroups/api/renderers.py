"""Render the data of responses, for BaseAPIView and ``failure_response``."""

from collections.abc import Mapping

import orjson
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder


class CompactJSONRenderer(JSONRenderer):
    """Render compact JSON, whatever the host's REST_FRAMEWORK setting says.

    An ``orjson.Fragment`` is copied as is.
    """

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
    ) -> bytes:
        # so that JSONEncoder writes times, and keys may be integers, as in DRF
        options = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
        return orjson.dumps(data, JSONEncoder().default, options)
