"""The query parameters that select a page of a list.

Each list validates them by its own subclass of PageQuery. A KeysetPagination
takes them from the view's ``query``.
"""

import hashlib
import json
from typing import Any

from django.db import models
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from .cursors import CREATED, DELETED, NOT_A_CURSOR, UPDATED

PAGING = frozenset({"limit", "cursor", "order", "time_field", "list_digest"})
"""What a validated PageQuery has for the paginator, besides SINCE."""

SINCE = {CREATED: "created_since", UPDATED: "updated_since", DELETED: "since"}
"""The name of the parameter that bounds each time field from below."""


class Order(models.TextChoices):
    NEWEST = "newest"
    OLDEST = "oldest"


class PageQuery(serializers.Serializer[None]):
    """The query parameters of a list. Each list has a subclass of its own."""

    # A subclass adds its ``cursor``.
    order = serializers.ChoiceField(
        choices=Order.values,
        default=Order.NEWEST,
        help_text="Whether the newest or the oldest objects come first.",
    )
    # The paginator describes it, with its default.
    limit = serializers.IntegerField(required=False, min_value=1)

    @classmethod
    def condition(cls, name: str, value: Any) -> models.Q:
        """Return the condition of a filter: by default, that the field of this
        name has the value.
        """
        return models.Q(**{name: value})

    def time_field(self, query: dict[str, Any]) -> str:
        """Return the field by which the list is ordered."""
        if "updated_since" in query:
            return UPDATED
        return CREATED

    def validate(self, query: dict[str, Any]) -> dict[str, Any]:
        """Refuse a cursor of another list, order or filter, and add the
        ``time_field`` and the ``list_digest``.
        """
        list_digest = self.list_digest(query)
        cursor = query.get("cursor")
        if cursor is not None and cursor.list_digest != list_digest:
            detail = ErrorDetail(NOT_A_CURSOR, "invalid")
            raise serializers.ValidationError({"cursor": [detail]})
        time_field = self.time_field(query)
        return {**query, "time_field": time_field, "list_digest": list_digest}

    def list_digest(self, query: dict[str, Any]) -> str:
        """Return eight hexadecimal digits that differ between lists, orders
        and filters, for validated fields.
        """
        same_on_all_pages = {
            name: value
            for name, value in query.items()
            if name not in ("cursor", "limit")
        }
        identity = [type(self).__name__, same_on_all_pages]
        # Times are in UTC.
        text = json.dumps(identity, default=str, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]
