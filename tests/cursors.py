"""Cursors of lists, for tests whose pages begin in the middle of one."""

from django.urls import resolve, reverse

from usergroups.api.pagination import Cursor


def list_digest(url_name, query):
    """Return the digest of the list of this URL with these query parameters."""
    view = resolve(reverse(url_name)).func.view_class
    serializer = view.request_serializers["GET"]()
    return serializer.list_digest(serializer.to_internal_value(query))


def cursor_text(url_name, query, time, key, *, backwards=False, until=None):
    """Return the text of a cursor for a list with these query parameters."""
    digest = list_digest(url_name, query)
    return Cursor(time, key, backwards, until, digest).encode()
