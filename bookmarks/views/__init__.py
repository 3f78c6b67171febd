"""The views of the bookmark operations, and of those on files and access
tokens.
"""

from .access_token_view import AccessTokenView, BookmarkAPIView, CollectionAPIView
from .access_tokens import (
    AccessTokenBatchRevocationView,
    AccessTokenBatchView,
    AccessTokenDetailView,
    AccessTokensView,
    DescribeAccessTokenView,
    RotateAccessTokenView,
    TeamAccessTokensView,
)
from .batches import (
    BookmarkBatchDeletionView,
    BookmarkBatchMoveView,
    BookmarkBatchView,
    BookmarkLookupView,
)
from .bookmarks import BookmarksView, BookmarkView, DeletionsView
from .collections import CollectionsView, CollectionView
from .files import ExportView, ImportView
from .tags import TagRenameView, TagsView

__all__ = [
    "AccessTokenBatchRevocationView",
    "AccessTokenBatchView",
    "AccessTokenDetailView",
    "AccessTokenView",
    "AccessTokensView",
    "BookmarkAPIView",
    "BookmarkBatchDeletionView",
    "BookmarkBatchMoveView",
    "BookmarkBatchView",
    "BookmarkLookupView",
    "BookmarkView",
    "BookmarksView",
    "CollectionAPIView",
    "CollectionView",
    "CollectionsView",
    "DeletionsView",
    "DescribeAccessTokenView",
    "ExportView",
    "ImportView",
    "RotateAccessTokenView",
    "TagRenameView",
    "TagsView",
    "TeamAccessTokensView",
]
