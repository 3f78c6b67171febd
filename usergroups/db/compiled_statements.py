"""Statements that the ORM compiles once, and that run with new values after
that.

The ORM takes longer to build and compile a query than PostgreSQL takes to
execute it. The statements without which a call is much slower are therefore
compiled from querysets, with a Parameter in place of each value, and kept. The
models remain the only description of the schema.

The calls a second without one of them, relative to those with all, on two
processes of Granian: authentication 0.66 to 0.85, the update of a user group
0.57, and the lookup of a bookmark by its id 0.73. Without any, and without
prepared statements, a PUT of a user group has 0.42, a POST of a bookmark 0.63, a
GET of one 0.46 and a list of 50 0.74. A POST of a bookmark that exists takes
0.67 of the CPU time. A compiled INSERT of a bookmark gained 3 %, too little.

Django's own cursor runs the statements, so that whatever wraps a connection
sees them: a backend with a schema for each tenant, ``execute_wrapper``, or a
debug toolbar.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql import Query, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

from .same_values import with_updated_at

M = TypeVar("M", bound=models.Model)

MAX_KEPT = 256
"""The maximum number of kept statements of a kind.

A call may have any combination of fields, and any number of versions.
"""

Fields = Sequence["models.Field[object, object]"]


class Parameter(models.Expression):
    """A placeholder for a value that is given when the statement runs, and is
    converted like a value of ``field``.
    """

    def __init__(self, name: str, field: "models.Field[object, object]") -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        # The parameter stands in the place of its value, so that
        # CompiledStatement.execute() can replace it.
        return "%s", [self]


def parameters(model: type[models.Model], *names: str) -> dict[str, Parameter]:
    """Return a parameter for each of these fields, by name.

    A name may be that of a foreign key's column.
    """
    options: Any = model._meta
    return {name: Parameter(name, options.get_field(name)) for name in names}


def loaded_fields(model: type[models.Model], deferred: Collection[str]) -> Fields:
    """Return the fields with columns, without those named ``deferred``."""
    fields = model._meta.concrete_fields
    return [field for field in fields if field.name not in deferred]


STORED_UNCHANGED = (str, bytes, int)
"""The types of values that every database stores as they are."""

STORED_BY_POSTGRESQL = (*STORED_UNCHANGED, datetime, UUID)


def prepared(value: Any, field: Any, connection: BaseDatabaseWrapper) -> Any:
    """Return a value as the field stores it. No field here changes a str.

    The fields would return most values unchanged. Without asking them, a PUT
    executes 1.5 % and a POST 3 % fewer function calls.
    """
    unchanged: tuple[type, ...] = STORED_UNCHANGED
    if connection.vendor == "postgresql":
        unchanged = STORED_BY_POSTGRESQL
    if value is None or isinstance(value, unchanged):
        return value
    return field.get_db_prep_save(value, connection)


class CompiledStatement(Generic[M]):
    """A compiled statement on the database ``using``, which returns rows with
    the columns of ``fields`` and, of the row to which the foreign key
    ``relation`` refers, those of ``related_fields``.

    Other fields are loaded when they are read, as after ``QuerySet.defer()``.
    """

    def __init__(
        self,
        using: str,
        sql: str,
        params: Sequence[object],
        fields: Fields,
        *,
        relation: Any = None,
        related_fields: Fields = (),
    ) -> None:
        self.using = using
        self.sql = sql
        self.params = params
        self.model: Any = fields[0].model
        self.relation = relation
        self.names = [field.attname for field in fields]
        self.related_names = [field.attname for field in related_fields]
        self.parameters: dict[str, Any] = {}
        """The fields of the parameters, by their names."""
        for param in params:
            if isinstance(param, Parameter):
                self.parameters[param.name] = param.output_field
        # A Col converts the values of a foreign key like those of the field
        # that it refers to.
        all_fields = (*fields, *related_fields)
        columns = [field.get_col(field.model._meta.db_table) for field in all_fields]
        # This connection is never opened. Another belongs to a thread, which
        # would keep it for as long as the statement.
        unopened = connections[using].copy()
        self.compiler = Query(self.model).get_compiler(connection=unopened)
        self.converters = self.compiler.get_converters(columns)

    def execute(self, **values: object) -> list[M]:
        """Execute the statement with these values of its parameters, and
        return the instances of its rows.
        """
        connection = connections[self.using]
        converted = {}
        for name, field in self.parameters.items():
            value = values[name]
            # An instance stands for the value of its key.
            if isinstance(value, models.Model):
                value = getattr(value, field.target_field.attname)
            converted[name] = prepared(value, field, connection)
        params = []
        for param in self.params:
            if isinstance(param, Parameter):
                params.append(converted[param.name])
            else:
                params.append(param)
        with connection.cursor() as cursor:
            cursor.execute(self.sql, params)
            rows = cursor.fetchall()
        rows = self.compiler.apply_converters(rows, self.converters)
        return [self._instance(row) for row in rows]

    def _instance(self, row: Sequence[object]) -> M:
        """Return the instance of a row, with the related one if there is a
        relation.
        """
        number = len(self.names)
        instance: M = self.model.from_db(self.using, self.names, row[:number])
        if self.relation is not None:
            model = self.relation.related_model
            related = model.from_db(self.using, self.related_names, row[number:])
            # Set the attribute of the foreign key, as select_related() does.
            self.relation.set_cached_value(instance, related)
        return instance


def _sql_of(rows: models.QuerySet[Any], fields: Fields) -> tuple[str, Sequence[object]]:
    """Return the SQL that selects the columns of these fields, and its
    parameters.
    """
    query = rows.values_list(*[field.attname for field in fields]).query
    sql, params = query.get_compiler(rows.db).as_sql()
    return sql, params


def compile_select(rows: models.QuerySet[M]) -> CompiledStatement[M]:
    """Return the statement that reads the rows of a queryset."""
    fields = loaded_fields(rows.model, ())
    return CompiledStatement(rows.db, *_sql_of(rows, fields), fields)


def compile_select_related(
    rows: models.QuerySet[M], related: str, deferred: Collection[str]
) -> CompiledStatement[M]:
    """Return the statement that reads the only row of a queryset and the row to
    which its foreign key ``related`` refers, without its ``deferred`` fields.

    The two are found separately, each by a unique key. If their tables were
    joined by a condition, PostgreSQL could choose a merge join, which reads
    the whole table of the related rows. For a user group among 1,000,000, that
    takes 207 ms instead of 0.08.
    """
    relation: Any = rows.model._meta.get_field(related)
    fields = loaded_fields(rows.model, ())
    related_fields = loaded_fields(relation.related_model, deferred)
    # From Django 6.1 on, the subquery of a comparison must be sliced.
    key = models.Subquery(rows.values(related)[:1])
    related_rows = relation.related_model._base_manager.using(rows.db)
    related_rows = related_rows.filter(**{relation.target_field.name: key})
    sql, params = _sql_of(rows, fields)
    related_sql, related_params = _sql_of(related_rows, related_fields)
    # The ORM has compiled both parts, which contain no values.
    both = f"SELECT * FROM ({sql}) found CROSS JOIN ({related_sql}) related"  # noqa: S608
    return CompiledStatement(
        rows.db,
        both,
        (*params, *related_params),
        fields,
        relation=relation,
        related_fields=related_fields,
    )


@lru_cache(maxsize=MAX_KEPT)
def select_statement(model: type[M], using: str, *key: str) -> CompiledStatement[M]:
    """Return the statement that reads the row in which the fields named
    ``key`` have the values of its parameters.
    """
    rows = model._base_manager.using(using)
    return compile_select(rows.filter(**parameters(model, *key)))


@lru_cache(maxsize=MAX_KEPT)
def update_statement(
    model: type[M],
    using: str,
    key: Collection[str],
    changes: Collection[str],
    *,
    versions: Collection[str],
    deferred: Collection[str],
) -> CompiledStatement[M]:
    """Return the statement that updates a row, and returns it without its
    ``deferred`` fields.

    Its parameters are the values of the fields named ``key``, by which the row
    is found, the new values of the fields named ``changes``, and the time of
    the change, ``updated_at``. A row that has the new values already keeps its
    time. If there are ``versions``, parameters with these names, only a row
    with one of these times is updated.
    """
    fields = loaded_fields(model, deferred)
    [now] = parameters(model, "updated_at").values()
    rows = model._base_manager.using(using).filter(**parameters(model, *key))
    if versions:
        accepted = [Parameter(name, now.output_field) for name in versions]
        rows = rows.filter(updated_at__in=accepted)
    # as in QuerySet.update()
    query: Any = rows.query.chain(UpdateQuery)
    query.add_update_values(with_updated_at(model, parameters(model, *changes), now))
    sql, params = query.get_compiler(using).as_sql()
    quote = connections[using].ops.quote_name
    returned = ", ".join(quote(str(field.column)) for field in fields)
    return CompiledStatement(using, f"{sql} RETURNING {returned}", params, fields)
