"""A model field that preserves a JSON object exactly."""

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class JSONObjectField(models.JSONField):
    """A JSON object that keeps the order of its keys and the types of its numbers.

    Django uses PostgreSQL's type ``jsonb``, which sorts keys and returns ``1e23`` as an integer. This field uses
    ``json``, which stores the text but supports no comparison and no key lookup. For these, first apply
    ``Cast("properties", models.JSONField())``.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "json" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        return json.dumps(value, ensure_ascii=False)

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        # The PostgreSQL drivers decode json values. Django prevents this for jsonb only.
        return value if isinstance(value, dict) else super().from_db_value(value, expression, connection)
