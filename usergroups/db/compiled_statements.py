"""Statements that the ORM compiles once, and that run with new values after
that.

The ORM takes longer to build and compile a query than PostgreSQL takes to
execute it. The statements without which a call is much slower are therefore
compiled from querysets, with a Parameter in place of each value, and kept:
docs/measurements.md has the figures. The models remain the only description of
the schema.

Django's own cursor runs the statements, so that whatever wraps a connection
sees them: a backend with a schema for each tenant, ``execute_wrapper``, or a
debug toolbar.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Col
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

from .versions import versioned

M = TypeVar("M", bound=models.Model)

MAX_KEPT = 256
"""The maximum number of kept statements of a kind.

A call may have any combination of fields, and any number of versions.
"""

Converter = Callable[[object, Col, BaseDatabaseWrapper], object]
"""Converts a value of the database to that of a field."""


class Parameter(models.Expression):
    """A placeholder for a value that is given when the statement runs, and is
    converted like a value of ``field``.
    """

    def __init__(self, name: str, field: "models.Field[Any, Any]") -> None:
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


class ModelColumns(Generic[M]):
    """The columns of a model in a statement on the database ``using``.

    Fields whose names are in ``deferred`` are left out, and loaded when they
    are read, as after ``QuerySet.defer()``.
    """

    def __init__(
        self, model: type[M], using: str, deferred: Collection[str] = ()
    ) -> None:
        self.model = model
        self.names: list[str] = []
        self.column_names: list[str] = []
        self.converted: list[tuple[int, Col]] = []
        """The index of each column whose values are converted, and the column.

        Most have no converters.
        """
        connection = connections[using]
        for field in model._meta.concrete_fields:
            if field.name in deferred:
                continue
            # A Col converts the values of a foreign key like those of the
            # field that it refers to.
            column = field.get_col(model._meta.db_table)
            if converters(column, connection):
                self.converted.append((len(self.names), column))
            self.names.append(field.attname)
            self.column_names.append(str(field.column))

    def select_from(self, rows: models.QuerySet[M]) -> tuple[str, Sequence[object]]:
        """Return the SQL that selects these columns of the rows of a queryset,
        and its parameters.
        """
        query = rows.values_list(*self.names).query
        sql, params = query.get_compiler(rows.db).as_sql()
        return sql, params

    def read(self, values: Sequence[object], connection: BaseDatabaseWrapper) -> M:
        """Return the instance that has the values of these columns."""
        converted = list(values)
        for index, column in self.converted:
            for convert in converters(column, connection):
                converted[index] = convert(converted[index], column, connection)
        return self.model.from_db(connection.alias, self.names, converted)


def converters(column: Col, connection: BaseDatabaseWrapper) -> list[Converter]:
    """Return the functions that convert the values of a column, as in Django's
    ``SQLCompiler.get_converters()``.
    """
    of_database = connection.ops.get_db_converters(column)
    return [*of_database, *column.get_db_converters(connection)]


class CompiledStatement(Generic[M]):
    """A compiled statement, which returns rows with the columns of a model.

    ``using`` is the alias of its database.
    """

    def __init__(
        self, using: str, sql: str, params: Sequence[object], columns: ModelColumns[M]
    ) -> None:
        self.using = using
        self.sql = sql
        self.params = params
        self.columns = columns
        self.fields: dict[str, Any] = {}
        """The fields of the parameters, by their names."""
        for param in params:
            if isinstance(param, Parameter):
                self.fields[param.name] = param.output_field

    def execute(self, **values: object) -> list[M]:
        """Execute the statement with these values of its parameters, and
        return the instances of its rows.
        """
        connection = connections[self.using]
        converted = {}
        for name, field in self.fields.items():
            value = values[name]
            # An instance stands for the value of its key.
            if isinstance(value, models.Model):
                value = getattr(value, field.target_field.attname)
            converted[name] = field.get_db_prep_save(value, connection)
        params = []
        for param in self.params:
            if isinstance(param, Parameter):
                params.append(converted[param.name])
            else:
                params.append(param)
        with connection.cursor() as cursor:
            cursor.execute(self.sql, params)
            rows = cursor.fetchall()
        return [self.read(row, connection) for row in rows]

    def read(self, row: Sequence[object], connection: BaseDatabaseWrapper) -> M:
        """Return the instance of a row."""
        return self.columns.read(row, connection)


def compile_select(rows: models.QuerySet[M]) -> CompiledStatement[M]:
    """Return the statement that reads the rows of a queryset."""
    columns = ModelColumns(rows.model, rows.db)
    sql, params = columns.select_from(rows)
    return CompiledStatement(rows.db, sql, params, columns)


class CompiledSelectRelated(CompiledStatement[M]):
    """Reads the only row of a queryset and the row to which its foreign key
    ``related`` refers.

    The ``deferred`` fields of the related row are not loaded.

    The two are found separately, each by a unique key. If their tables were
    joined by a condition, PostgreSQL could choose a merge join, which reads
    the whole table of the related rows. For a user group among 1,000,000, that
    takes 207 ms instead of 0.08.
    """

    def __init__(
        self, rows: models.QuerySet[M], related: str, deferred: Collection[str]
    ) -> None:
        options: Any = rows.model._meta
        self.relation = options.get_field(related)
        related_model = self.relation.related_model
        # From Django 6.1 on, the subquery of a comparison must be sliced.
        key = models.Subquery(rows.values(related)[:1])
        name_of_key = self.relation.target_field.name
        related_rows = related_model._base_manager.using(rows.db)
        related_rows = related_rows.filter(**{name_of_key: key})
        columns = ModelColumns(rows.model, rows.db)
        self.related_columns = ModelColumns[Any](related_model, rows.db, deferred)
        sql, params = columns.select_from(rows)
        related_sql, related_params = self.related_columns.select_from(related_rows)
        # The ORM has compiled both parts, which contain no values.
        both = f"SELECT * FROM ({sql}) found CROSS JOIN ({related_sql}) related"  # noqa: S608
        super().__init__(rows.db, both, (*params, *related_params), columns)

    def read(self, row: Sequence[object], connection: BaseDatabaseWrapper) -> M:
        """Return the instance of a row, whose last columns are those of the
        related row.
        """
        number = len(self.columns.names)
        instance = self.columns.read(row[:number], connection)
        related = self.related_columns.read(row[number:], connection)
        # Set the attribute of the foreign key, as select_related() does.
        self.relation.set_cached_value(instance, related)
        return instance


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
    columns = ModelColumns(model, using, deferred)
    [now] = parameters(model, "updated_at").values()
    rows = model._base_manager.using(using).filter(**parameters(model, *key))
    if versions:
        accepted = [Parameter(name, now.output_field) for name in versions]
        rows = rows.filter(updated_at__in=accepted)
    # as in QuerySet.update()
    query: Any = rows.query.chain(UpdateQuery)
    query.add_update_values(versioned(model, parameters(model, *changes), now))
    sql, params = query.get_compiler(using).as_sql()
    quote = connections[using].ops.quote_name
    returned = ", ".join(quote(name) for name in columns.column_names)
    sql = f"{sql} RETURNING {returned}"
    return CompiledStatement(using, sql, params, columns)
