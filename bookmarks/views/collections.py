"""Operations on collections."""

from rest_framework.request import Request
from rest_framework.response import Response

from bookmarks.exceptions import CollectionExists
from bookmarks.models import Collection
from bookmarks.openapi import collections as openapi
from bookmarks.public_ids import Duplicate
from bookmarks.serializers.collections import (
    CollectionEnvelope,
    CollectionListEnvelope,
    CollectionListQuery,
    CollectionWriteSerializer,
)
from usergroups.contract.etags import accepted_versions
from usergroups.contract.fields import Envelope
from usergroups.contract.pagination import Page, pop_position

from .base import AccessTokenView


class CollectionsView(AccessTokenView):
    request_serializers = {"GET": CollectionListQuery, "POST": CollectionWriteSerializer}
    response_serializers = {"GET": CollectionListEnvelope, "POST": CollectionEnvelope}

    @openapi.list_collections
    def get(self, request: Request) -> Response:
        query = self.validated()
        position = pop_position(query)
        page = Page(self.collections.filter(**query), "id", **position)
        return self.respond({"collections": page.items, **page.links(request)})

    @openapi.create_collection
    def post(self, request: Request) -> Response:
        fields = self.validated()
        try:
            collection = Collection.objects.add(self.user_group, **fields)
        except Duplicate as duplicate:
            raise CollectionExists(self.location_of(duplicate.key)) from None
        location = self.location_of(collection.pk)
        return self.respond({"collection": collection}, tagged=collection, status=201, location=location)


class CollectionView(AccessTokenView):
    request_serializers = {"PATCH": CollectionWriteSerializer}
    response_serializers = {"GET": CollectionEnvelope, "PATCH": CollectionEnvelope, "DELETE": Envelope}

    @openapi.get_collection
    def get(self, request: Request, id: str) -> Response:
        collection = self.collections.get_by_public_id(id)
        return self.respond({"collection": collection}, tagged=collection)

    @openapi.update_collection
    def patch(self, request: Request, id: str) -> Response:
        fields = self.validated()
        try:
            collection = self.collections.change(id, accepted_versions(request), **fields)
        except Duplicate as duplicate:
            raise CollectionExists(self.location_of(duplicate.key)) from None
        return self.respond({"collection": collection}, tagged=collection)

    @openapi.delete_collection
    def delete(self, request: Request, id: str) -> Response:
        self.collections.remove(id, accepted_versions(request))
        return self.respond({})
