"""The admin of access tokens, collections and bookmarks, and of their owners."""

from .access_tokens import AccessTokenAdmin
from .bookmarks import BookmarkAdmin
from .collections import CollectionAdmin
from .owners import OwningTeamAdmin, OwningUserGroupAdmin

__all__ = [
    "AccessTokenAdmin",
    "BookmarkAdmin",
    "CollectionAdmin",
    "OwningTeamAdmin",
    "OwningUserGroupAdmin",
]
