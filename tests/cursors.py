"""Cursors of lists, for tests whose pages begin in the middle of one."""

from types import SimpleNamespace

from django.urls import resolve, reverse

from usergroups.api.pagination import Cursor, identity_of
from usergroups.models import UserGroup


def list_identity(url_name, user_group, query):
    """Return the identity of the list of this URL with these query parameters,
    for a token of the user group or of its team.
    """
    owner = user_group.scope
    if url_name.startswith("bookmarks:"):
        owner = (UserGroup, user_group.pk)
    view_class = resolve(reverse(url_name)).func.view_class
    serializer = view_class.request_serializers["GET"]()
    view = SimpleNamespace(
        owner_of_list=owner,
        list_query=serializer,
        validated_data=serializer.to_internal_value(query),
    )
    return identity_of(view)


def cursor_text(url_name, user_group, query, time, key, *, backwards=False, until=None):
    """Return the text of a cursor for a list with these query parameters."""
    identity = list_identity(url_name, user_group, query)
    return Cursor(time, key, backwards, until).encode(identity)
