"""The list of deleted bookmarks and collections."""

from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import openapi, serializers
from bookmarks.deletions import Deletion
from usergroups.api.page_queries import pop_paging
from usergroups.api.pagination import Page

from .base import AccessTokenView


class DeletionsView(AccessTokenView):
    request_serializers = {"GET": serializers.BookmarkDeletionListQuery}
    response_serializers = {"GET": serializers.DeletionListEnvelope}

    @openapi.list_deletions
    def get(self, request: Request) -> Response:
        deletions = Deletion.objects.filter(user_group=self.user_group)
        page = Page(deletions, "id", **pop_paging(self.validated()))
        return self.respond({"deletions": page.items, **page.links(request)})
