"""The query parameters that select a page of a list."""

from typing import Any

from django.db import models
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from .cursors import CREATED, DELETED, NOT_A_CURSOR, UPDATED

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


SINCE = {CREATED: "created_since", UPDATED: "updated_since", DELETED: "since"}
"""The name of the parameter that bounds each time field from below."""


class Order(models.TextChoices):
    NEWEST = "newest"
    OLDEST = "oldest"


class PageQuery(serializers.Serializer[Any]):
    """The query parameters of a list."""

    # A subclass adds its ``cursor``.
    order = serializers.ChoiceField(
        choices=Order.values,
        default=Order.NEWEST,
        help_text="Whether the newest or the oldest objects come first.",
    )
    limit = serializers.IntegerField(
        default=DEFAULT_LIMIT,
        min_value=1,
        help_text=(
            f"The maximum number of items on the page. Values over {MAX_LIMIT} count "
            f"as {MAX_LIMIT}."
        ),
    )

    def time_field(self, query: dict[str, Any]) -> str:
        """Return the field by which the list is ordered."""
        if "updated_since" in query:
            return UPDATED
        return CREATED

    def validate(self, query: dict[str, Any]) -> dict[str, Any]:
        """Refuse a cursor of another order, and add the ``time_field``."""
        query["time_field"] = self.time_field(query)
        cursor = query.get("cursor")
        if cursor is not None and cursor.time_field != query["time_field"]:
            detail = ErrorDetail(NOT_A_CURSOR, "invalid")
            raise serializers.ValidationError({"cursor": [detail]})
        return query


def pop_paging(query: dict[str, Any]) -> dict[str, Any]:
    """Remove the parameters that select a page from a validated PageQuery, and
    return them as keyword arguments of ``Page``.
    """
    since = query.pop(SINCE[query["time_field"]], None)
    names = ("limit", "cursor", "order", "time_field")
    paging = {name: query.pop(name) for name in names if name in query}
    return {**paging, "since": since}
