"""The operations on collections."""

from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks import exceptions, openapi, serializers
from bookmarks.models import Collection
from bookmarks.public_ids import Duplicate
from usergroups.api.envelopes import Envelope
from usergroups.api.page_queries import pop_paging
from usergroups.api.pagination import Page
from usergroups.api.preconditions import accepted_versions

from .base import AccessTokenView

ERRORS = {**AccessTokenView.errors, Duplicate: exceptions.CollectionExists}


class CollectionsView(AccessTokenView):
    errors = ERRORS
    request_serializers = {
        "GET": serializers.CollectionListQuery,
        "POST": serializers.CollectionWriteSerializer,
    }
    response_serializers = {
        "GET": serializers.CollectionListEnvelope,
        "POST": serializers.CollectionEnvelope,
    }

    @openapi.list_collections
    def get(self, request: Request) -> Response:
        query = self.validated()
        paging = pop_paging(query)
        page = Page(self.collections.filter(**query), "id", **paging)
        return self.respond({"collections": page.items, **page.links(request)})

    @openapi.create_collection
    def post(self, request: Request) -> Response:
        fields = self.validated()
        collection = Collection.objects.add(self.user_group, **fields)
        location = self.location_of(collection.pk)
        return self.respond(
            {"collection": collection},
            etag_of=collection,
            status=201,
            location=location,
        )


class CollectionView(AccessTokenView):
    errors = ERRORS
    request_serializers = {"PATCH": serializers.CollectionWriteSerializer}
    response_serializers = {
        "GET": serializers.CollectionEnvelope,
        "PATCH": serializers.CollectionEnvelope,
        "DELETE": Envelope,
    }

    @openapi.get_collection
    def get(self, request: Request, id: str) -> Response:
        collection = Collection.objects.find_by_id(self.user_group, id)
        if collection is None:
            raise Collection.DoesNotExist
        return self.respond({"collection": collection}, etag_of=collection)

    @openapi.update_collection
    def patch(self, request: Request, id: str) -> Response:
        fields = self.validated()
        versions = accepted_versions(request)
        collection = Collection.objects.update_by_id(
            self.user_group, id, versions, **fields
        )
        return self.respond({"collection": collection}, etag_of=collection)

    @openapi.delete_collection
    def delete(self, request: Request, id: str) -> Response:
        versions = accepted_versions(request)
        Collection.objects.delete_by_id(self.user_group, id, versions)
        return self.respond({})
