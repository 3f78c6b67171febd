"""Decide whether a value is the same as the stored one: ``with_updated_at`` does in an
UPDATE, and ``is_same`` for rows that are locked.
"""

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Case, Expression, F, Func, Q, Value, When
from django.db.models.sql.compiler import SQLCompiler

from .stored_json import JSONObjectField, KeptJSON, as_text, kept_json


class IsSame(Func):
    """Whether two values are equal, or are both null."""

    arg_joiner = " IS NOT DISTINCT FROM "
    template = "%(expressions)s"
    output_field = models.BooleanField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        # SQLite knows IS NOT DISTINCT FROM only since version 3.39.
        return self.as_sql(compiler, connection, arg_joiner=" IS ", **context)


def is_same(field: "models.Field[object, object]", old: object, new: object) -> bool:
    """Return whether writing the new value would change nothing, as
    ``with_updated_at`` decides it in the database.
    """
    if not isinstance(field, JSONObjectField):
        return old == new
    text = as_text(old)
    return kept_json(text, as_text(new)) == text


def with_updated_at(
    model: type[models.Model], changes: Mapping[str, object], now: Expression
) -> dict[str, object]:
    """Return the values for an UPDATE that makes these changes, with that of
    ``updated_at``: ``now``, or the old time if the row has all values already.

    The values may be expressions. A JSONObjectField with the same JSON keeps
    its text.
    """
    values = dict(changes)
    same = Q()
    for name, value in changes.items():
        field: Any = model._meta.get_field(name)
        new = value
        if not hasattr(value, "resolve_expression"):
            # A foreign key stores the key of an instance, and converts it like
            # the field that it refers to.
            key = getattr(value, "pk", value)
            new = Value(key, getattr(field, "target_field", field))
        if isinstance(field, JSONObjectField):
            new = KeptJSON(F(name), new)
            values[name] = new
        same &= Q(IsSame(F(field.attname), new))
    if not changes:
        return {"updated_at": F("updated_at")}
    time = Case(When(same, then=F("updated_at")), default=now)
    return {**values, "updated_at": time}
