"""Add a field of the host to the results of a batch."""

from bookmarks import views
from bookmarks.serializers import BookmarkBatchEnvelope, BookmarkResultSerializer
from usergroups.contract.batch import ResultsField

from .views import RatedBookmarkSerializer


class RatedBookmarkResultSerializer(BookmarkResultSerializer):
    bookmark = RatedBookmarkSerializer(required=False)


class RatedBookmarkBatchEnvelope(BookmarkBatchEnvelope):
    results = ResultsField(RatedBookmarkResultSerializer)


class BookmarkBatchView(views.BookmarkBatchView):
    response_serializers = {"POST": RatedBookmarkBatchEnvelope}
