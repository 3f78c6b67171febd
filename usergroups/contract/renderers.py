"""Render responses as JSON."""

from rest_framework.renderers import JSONRenderer


class CompactJSONRenderer(JSONRenderer):
    """Render compact JSON, whatever the host's REST_FRAMEWORK setting says."""

    compact = True
    ensure_ascii = False
    strict = True
