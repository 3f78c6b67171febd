"""A model field for JSON that is stored as it was sent.

A response copies the text without decoding it. With 1 MB of JSON in a user
group, a small call takes a few milliseconds of CPU time instead of 300.
"""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.query_utils import DeferredAttribute
from django.db.models.sql.compiler import SQLCompiler

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JSONText(str):
    """JSON text as it is stored, not decoded yet.

    The type distinguishes it from a string to be encoded.
    """

    __slots__ = ()


class DecodedAttribute(DeferredAttribute):
    """Decodes the stored text when the attribute is read for the first time.

    The instance's ``__dict__`` has the text until then, and the decoded value
    from then on.
    """

    def __get__(self, instance: Any, cls: type[models.Model] | None = None) -> object:
        value = super().__get__(instance, cls)
        if isinstance(value, JSONText):
            value = json.loads(value)
            self.__set__(instance, value)
        return value

    # Without this method, Python would read __dict__ and not call __get__.
    def __set__(self, instance: models.Model, value: object) -> None:
        instance.__dict__[self.field.attname] = value


class JSONObjectField(models.JSONField):
    """A JSON object that keeps the order of its keys and the types of its
    numbers.

    Django uses PostgreSQL's type ``jsonb``, which sorts keys and returns
    ``1e23`` as an integer. This field stores the text, and decodes it only if
    the attribute is read. ``values()`` returns the text. To look up keys,
    first apply ``Cast("properties", models.JSONField())``.
    """

    descriptor_class = DecodedAttribute

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "text"

    def validate(self, value: object, model_instance: models.Model | None) -> None:
        # without encoding the value, as JSONField does
        models.Field.validate(self, value, model_instance)

    def get_db_prep_value(
        self, value: object, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> JSONText | None:
        return as_text(value)

    def from_db_value(
        self, value: str | None, expression: object, connection: BaseDatabaseWrapper
    ) -> JSONText | None:
        """Mark the value as text that DecodedAttribute still has to decode."""
        if value is None:
            return None
        return JSONText(value)

    def pre_save(self, model_instance: models.Model, add: bool) -> JSONText | None:
        """Return the text to store. Django would read the attribute, which
        decodes the text that was loaded.
        """
        return stored_text(model_instance, self.attname)


def stored_text(instance: models.Model, name: str) -> JSONText | None:
    """Return the value of the JSONObjectField ``name`` as JSON text.

    Text that was loaded from the database is not decoded.
    """
    # A deferred field has not been loaded yet.
    if name not in vars(instance):
        instance.refresh_from_db(fields=[name])
    return as_text(vars(instance)[name])


def as_text(value: object) -> JSONText | None:
    """Encode a value as JSON text, unless it is JSON text already or None."""
    if value is None or isinstance(value, JSONText):
        return value
    return JSONText(encode(value))


def kept_json(old: str | None, new: str | None) -> str | None:
    """Return the old JSON text if the new one has the same value, or else the
    new one.

    The order of keys does not matter, and neither do different spellings of a
    number.
    """
    if old is None or new is None or old == new:
        return new
    is_equal = json.loads(old) == json.loads(new)
    # In Python, 1 is equal to True. Compare exactly only what is equal, because
    # it takes twenty times as long.
    if is_equal and _exact(old) == _exact(new):
        return old
    return new


def _exact(text: str) -> object:
    """Decode JSON with a tuple for each number, so that none is equal to a
    boolean.
    """
    return json.loads(text, parse_int=_number, parse_float=_number)


def _number(literal: str) -> tuple[Decimal]:
    return (Decimal(literal),)


class KeptJSON(models.Func):
    """The SQL of ``kept_json``, for a column and a new value.

    PostgreSQL compares values of the type ``jsonb``, which cannot contain
    U+0000. The subquery names the new value, which may be large, and with
    ``OFFSET 0`` PostgreSQL decodes it only if the texts differ.
    """

    function = "usergroups_kept_json"  # on SQLite
    output_field = models.TextField()

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, Sequence[object]]:
        template = (
            "(SELECT CASE WHEN old = new THEN new "
            r"WHEN strpos(old, '\u0000') > 0 OR strpos(new, '\u0000') > 0 THEN new "
            "WHEN old::jsonb = new::jsonb THEN old ELSE new END "
            "FROM (SELECT %(expressions)s OFFSET 0) AS texts (old, new))"
        )
        return self.as_sql(compiler, connection, template=template)


def add_function(connection: BaseDatabaseWrapper, **kwargs: object) -> None:
    """Add ``kept_json`` to the functions of a connection to SQLite.

    This is a receiver of Django's signal ``connection_created``.
    """
    if connection.vendor == "sqlite":
        connection.connection.create_function(
            KeptJSON.function, 2, kept_json, deterministic=True
        )


class StoredSize(models.Func):
    """The number of bytes of the values of text fields, such as
    JSONObjectFields, in total.

    PostgreSQL knows it without reading a large text. To count characters, it
    would read them: 235 ms for 10,000 long notes, not 0.7.
    """

    # In SQL, a sum with NULL is NULL.
    template = "COALESCE(OCTET_LENGTH(%(expressions)s), 0)"
    arg_joiner = "), 0) + COALESCE(OCTET_LENGTH("
    # Before version 3.43, SQLite has no OCTET_LENGTH, and its LENGTH counts
    # bytes only in a BLOB.
    sqlite_template = "COALESCE(LENGTH(CAST(%(expressions)s AS BLOB)), 0)"
    sqlite_joiner = " AS BLOB)), 0) + COALESCE(LENGTH(CAST("
    output_field = models.IntegerField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(
            compiler,
            connection,
            template=self.sqlite_template,
            arg_joiner=self.sqlite_joiner,
            **context,
        )


class EncodedSize(StoredSize):
    """The number of bytes of the values of text fields as JSON strings, in
    total.

    A control character takes one byte in the database, and six as JSON.
    """

    template = "OCTET_LENGTH(TO_JSON(%(expressions)s)::text)"
    arg_joiner = ")::text) + OCTET_LENGTH(TO_JSON("
    sqlite_template = "LENGTH(CAST(JSON_QUOTE(%(expressions)s) AS BLOB))"
    sqlite_joiner = ") AS BLOB)) + LENGTH(CAST(JSON_QUOTE("
