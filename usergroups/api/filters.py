"""Filter lists by the query serializers that views declare."""

from typing import TYPE_CHECKING, TypeVar, cast

from django.db.models import Model, QuerySet
from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request

from .page_queries import PageQuery
from .pagination import KeysetPagination

if TYPE_CHECKING:
    from .views import ListMixin

M = TypeVar("M", bound=Model)


class QueryFilter(BaseFilterBackend):
    """Filters by each parameter that the view's query serializer, a PageQuery,
    declares and that its paginator does not take.
    """

    def filter_queryset(  # type: ignore[override]  # DRF's is any view
        self, request: Request, queryset: QuerySet[M], view: "ListMixin"
    ) -> QuerySet[M]:
        taken = cast(KeysetPagination, view.paginator).parameters(view.query)
        query_class = cast(type[PageQuery], view.request_serializers["GET"])
        conditions = [
            query_class.condition(name, value)
            for name, value in view.query.items()
            if name not in taken
        ]
        if not conditions:
            return queryset
        return queryset.filter(*conditions)
