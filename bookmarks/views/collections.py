"""The operations on collections."""

from drf_spectacular.utils import extend_schema_view

from bookmarks import openapi, serializers
from bookmarks.models import Collection
from usergroups.api.serializers import AnySerializer, Envelope
from usergroups.api.views import CreateMixin, ListMixin

from .access_token_view import CollectionAPIView, PublicIdMixin


@extend_schema_view(get=openapi.list_collections, post=openapi.create_collection)
class CollectionsView(ListMixin, CreateMixin, CollectionAPIView):
    request_serializers = {
        "GET": serializers.CollectionListQuery,
        "POST": serializers.CollectionWriteSerializer,
    }
    response_serializers = {
        "GET": serializers.CollectionListEnvelope,
        "POST": serializers.CollectionEnvelope,
    }
    list_name = "collections"

    def perform_create(self, serializer: AnySerializer) -> None:
        serializer.instance = Collection.objects.add(
            self.user_group, **serializer.validated_data
        )


@extend_schema_view(
    get=openapi.get_collection,
    patch=openapi.update_collection,
    delete=openapi.delete_collection,
)
class CollectionView(PublicIdMixin, CollectionAPIView):
    model = Collection
    request_serializers = {"PATCH": serializers.CollectionWriteSerializer}
    response_serializers = {
        "GET": serializers.CollectionEnvelope,
        "PATCH": serializers.CollectionEnvelope,
        "DELETE": Envelope,
    }
