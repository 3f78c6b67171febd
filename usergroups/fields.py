"""A model field that preserves a JSON object exactly."""

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.query_utils import DeferredAttribute

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JSONText(str):
    """JSON as it is stored."""

    __slots__ = ()


class DecodedAttribute(DeferredAttribute):
    """Decodes the stored text when the attribute is read for the first time."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, JSONText):
            value = instance.__dict__[self.field.attname] = json.loads(value)
        return value

    def __set__(self, instance: Any, value: Any) -> None:  # so that Python calls __get__ although there is a value
        instance.__dict__[self.field.attname] = value


class JSONObjectField(models.JSONField):
    """A JSON object that keeps the order of its keys and the types of its numbers.

    Django uses PostgreSQL's type ``jsonb``, which sorts keys and returns ``1e23`` as an integer. This field stores the
    text, and decodes it only if the attribute is read. ``values()`` returns the text. To look up keys, first apply
    ``Cast("properties", models.JSONField())``.
    """

    descriptor_class = DecodedAttribute

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "text"

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        return value if value is None or isinstance(value, JSONText) else JSONText(encode(value))

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        return value if value is None else JSONText(value)

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        return stored_text(model_instance, self.attname)


def stored_text(instance: models.Model, name: str) -> JSONText | None:
    """Return the value of a JSONObjectField as JSON, without decoding it if it is as the database returned it."""
    value = vars(instance)[name] if name in vars(instance) else getattr(instance, name)
    if value is None or isinstance(value, JSONText):
        return value
    return JSONText(encode(value))
