"""Add a field of the host to the results of a batch."""

from bookmarks.serializers.bookmarks import BookmarkBatchEnvelope, BookmarkResultSerializer
from bookmarks.views import batches
from usergroups.contract.batch import ResultsField

from .views import RatedBookmarkSerializer


class RatedBookmarkResultSerializer(BookmarkResultSerializer):
    bookmark = RatedBookmarkSerializer(required=False)


class RatedBookmarkBatchEnvelope(BookmarkBatchEnvelope):
    results = ResultsField(RatedBookmarkResultSerializer)


class BookmarkBatchView(batches.BookmarkBatchView):
    response_serializers = {"POST": RatedBookmarkBatchEnvelope}
