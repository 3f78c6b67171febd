"""The admin of access tokens, collections and bookmarks."""

from .access_tokens import AccessTokenAdmin
from .bookmarks import BookmarkAdmin
from .collections import CollectionAdmin

__all__ = ["AccessTokenAdmin", "BookmarkAdmin", "CollectionAdmin"]
