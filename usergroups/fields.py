"""A model field for JSON that comes back as it was sent."""

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class JSONObjectField(models.JSONField):
    """A JSON object that keeps the order of its keys and the kind of its numbers.

    PostgreSQL's ``jsonb``, which Django uses, sorts keys and returns ``1e23`` as an integer; its ``json`` keeps the
    text, and can for that neither be compared nor looked into: ``Cast("properties", models.JSONField())`` first.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "json" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        return json.dumps(value, ensure_ascii=False)

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        # Drivers decode PostgreSQL's json themselves; of jsonb Django keeps them.
        return value if isinstance(value, dict) else super().from_db_value(value, expression, connection)
