"""The operations on collections."""

from typing import Any, cast

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from bookmarks import openapi, serializers
from bookmarks.models import Collection
from usergroups.api.envelopes import Envelope
from usergroups.api.views import ListMixin

from .access_token_view import CollectionAPIView, PublicIdMixin


class CollectionsView(ListMixin, CollectionAPIView):
    request_serializers = {
        "GET": serializers.CollectionListQuery,
        "POST": serializers.CollectionWriteSerializer,
    }
    response_serializers = {
        "GET": serializers.CollectionListEnvelope,
        "POST": serializers.CollectionEnvelope,
    }
    list_name = "collections"

    @openapi.list_collections
    def get(self, request: Request) -> Response:
        return self.list(request)

    @openapi.create_collection
    def post(self, request: Request) -> Response:
        serializer = self.get_valid_serializer()
        self.perform_create(serializer)
        collection = cast(Collection, serializer.instance)
        return self.respond(
            {"collection": collection},
            etag_of=collection,
            status=201,
            location=self.location_of(collection.pk),
        )

    def perform_create(self, serializer: Serializer[Any]) -> None:
        serializer.instance = Collection.objects.add(
            self.user_group, **serializer.validated_data
        )


class CollectionView(PublicIdMixin, CollectionAPIView):
    model = Collection
    object_name = "collection"
    request_serializers = {"PATCH": serializers.CollectionWriteSerializer}
    response_serializers = {
        "GET": serializers.CollectionEnvelope,
        "PATCH": serializers.CollectionEnvelope,
        "DELETE": Envelope,
    }

    @openapi.get_collection
    def get(self, request: Request, id: str) -> Response:
        return self.retrieve(request)

    @openapi.update_collection
    def patch(self, request: Request, id: str) -> Response:
        return self.update(request)

    @openapi.delete_collection
    def delete(self, request: Request, id: str) -> Response:
        return self.destroy(request)
