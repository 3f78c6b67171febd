"""Statements that the ORM compiles once, and that run with new values after
that.

The ORM takes several times as long to build and compile a query as the
database takes to execute it. The statements of the most frequent calls are
therefore compiled from querysets with a Parameter in place of each value, and
kept. They work for every kind of token and owner, including those of a host
project, and the models remain the only description of the schema. Handwritten
SQL would have to repeat the schema, and the conversions of values on SQLite.

With psycopg 3, PostgreSQL receives the values separately from the statement,
and prepares the statement if the connection has a ``prepare_threshold``, which
is an option of Django's DATABASES setting.
"""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from django.db import (
    InterfaceError,
    NotSupportedError,
    OperationalError,
    connections,
    models,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql import UpdateQuery

from .retry import in_autocommit
from .versions import time_of_change

M = TypeVar("M", bound=models.Model)


class Parameter(models.Expression):
    """A placeholder for a value that is given when the statement runs, and is
    converted like a value of ``field``.
    """

    def __init__(self, name: str, field: "models.Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(
        self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any
    ) -> Any:
        return "%s", [self]  # CompiledStatement replaces it with a value.


def parameters(model: type[models.Model], *names: str) -> dict[str, Parameter]:
    """Return a parameter for each of these fields, by name.

    A name may be that of a foreign key's column.
    """
    return {name: Parameter(name, model._meta.get_field(name)) for name in names}  # type: ignore[arg-type]


class CompiledStatement(Generic[M]):
    """A compiled statement.

    Calling it executes it with new values and returns instances of ``model``.

    The columns are those of ``model``, and then those of the model to which
    the foreign key ``related`` refers. Fields whose names are in ``deferred``
    are left out, and loaded when they are read, as after ``QuerySet.defer()``.
    """

    reads = False
    """Whether the statement only reads, so that it may be executed again if
    the connection turns out to be broken.
    """

    def __init__(
        self,
        model: type[M],
        using: str,
        sql: str,
        params: Sequence[Any],
        *,
        related: str | None = None,
        deferred: Sequence[str] = (),
    ) -> None:
        self.model, self.using, self.sql, self.params = model, using, sql, params
        self.placeholders = [
            (index, param)
            for index, param in enumerate(params)
            if isinstance(param, Parameter)
        ]
        options: Any = model._meta
        connection = connections[using]
        self.relation = options.get_field(related) if related else None
        fields = _fields(model, deferred)
        self.names = [field.attname for field in fields]
        related_fields = (
            _fields(self.relation.related_model, deferred) if self.relation else []
        )
        self.related_names = [field.attname for field in related_fields]
        # The column of a foreign key has the converters of the key that it
        # refers to.
        columns = [
            field.get_col(field.model._meta.db_table)
            for field in [*fields, *related_fields]
        ]
        self.converters = [
            (position, converter, column)
            for position, column in enumerate(columns)
            for converter in (
                *connection.ops.get_db_converters(column),
                *column.get_db_converters(connection),
            )
        ]

    def __call__(self, **values: Any) -> list[M]:
        """Execute the statement with these values of its parameters, and
        return the instances of its rows.
        """
        connection, own_columns = connections[self.using], len(self.names)
        params, converted = [*self.params], dict[str, Any]()
        for position, parameter in self.placeholders:
            name = parameter.name
            if name not in converted:
                converted[name] = parameter.output_field.get_db_prep_save(
                    values[name], connection
                )
            params[position] = converted[name]
        instances = []
        for returned in self.execute(connection, params):
            row = [*returned]
            for position, converter, expression in self.converters:
                row[position] = converter(row[position], expression, connection)
            instance = self.model.from_db(self.using, self.names, row[:own_columns])
            if self.relation:
                related = self.relation.related_model.from_db(
                    self.using, self.related_names, row[own_columns:]
                )
                self.relation.set_cached_value(instance, related)
            instances.append(instance)
        return instances

    def execute(
        self, connection: Any, params: Sequence[Any], is_repeated: bool = False
    ) -> list[Sequence[Any]]:
        """Execute the statement with these parameters and return its rows.

        Outside of an atomic block, psycopg 3's cursor sends the values
        separately from the statement, and loads times in C, which takes 0.1 µs
        for each instead of 3. In an atomic block, Django's own cursor runs the
        statement, because a failure of a prepared statement would abort the
        transaction, and the statement could not be repeated.

        The statement is repeated on a new connection if PostgreSQL refuses to
        run the prepared statement, because a migration has changed the type of
        a column. A statement that only reads is also repeated if the
        connection is broken. This replaces Django's health check of the
        connection, which takes a query of its own.
        """
        if not self.reads:
            connection.close_if_health_check_failed()
        driver = connection.Database
        try:
            is_psycopg_3 = connection.vendor == "postgresql" and hasattr(
                driver, "ClientCursor"
            )
            if not is_psycopg_3 or connection.in_atomic_block:
                cursor = connection.cursor()
            else:
                connection.ensure_connection()
                connection.validate_thread_sharing()
                wrap = (
                    connection.make_debug_cursor
                    if connection.queries_logged
                    else connection.make_cursor
                )
                cursor = wrap(driver.Cursor(connection.connection))
                cursor.adapters.register_loader(
                    "timestamptz", driver.types.datetime.TimestamptzLoader
                )
            with cursor:
                cursor.execute(self.sql, params)
                rows: list[Sequence[Any]] = cursor.fetchall()
        except (NotSupportedError, InterfaceError, OperationalError) as error:
            # the prepared statement, after a migration
            is_outdated = isinstance(error, NotSupportedError)
            # If there is no connection, the server is unreachable. A second
            # attempt would take as long as the first.
            may_repeat = (
                not is_repeated
                and connection.connection is not None
                and in_autocommit(connection)
            )
            is_broken = may_repeat and self.reads and not connection.is_usable()
            if not may_repeat or not (is_outdated or is_broken):
                raise
            connection.close()
            return self.execute(connection, params, is_repeated=True)
        connection.health_check_done = True  # The connection works.
        return rows


class CompiledSelect(CompiledStatement[M]):
    """Reads the rows of a queryset.

    With ``related``, the name of a foreign key, it reads a queryset of at most
    one row, with the row that it refers to. The two are found separately, each
    by a unique key. If their tables were joined by a condition, PostgreSQL
    could choose a merge join, which reads the whole table of the related rows.
    For a user group among 1,000,000, that takes 207 ms instead of 0.08.
    """

    reads = True

    def __init__(
        self,
        rows: models.QuerySet[M],
        related: str | None = None,
        deferred: Sequence[str] = (),
    ) -> None:
        sql, params = _compiled(rows, deferred)
        if related:
            relation: Any = rows.model._meta.get_field(related)
            # From Django 6.1 on, the subquery of a comparison must be sliced.
            key = models.Subquery(rows.values(related)[:1])
            related_rows = relation.related_model._base_manager.using(rows.db).filter(
                **{relation.target_field.name: key}
            )
            related_sql, related_params = _compiled(related_rows, deferred)
            # compiled SQL
            sql = f"SELECT * FROM ({sql}) found CROSS JOIN ({related_sql}) related"  # noqa: S608
            params = (*params, *related_params)
        super().__init__(
            rows.model, rows.db, sql, params, related=related, deferred=deferred
        )


class CompiledUpdate(CompiledStatement[M]):
    """Sets the fields with the names ``changes`` of the rows of a queryset,
    and returns the rows.

    Its parameter ``updated_at`` is the time of the change. A row that has the
    new values already keeps its time.
    """

    def __init__(
        self, rows: models.QuerySet[M], *changes: str, deferred: Sequence[str] = ()
    ) -> None:
        query: Any = rows.query.chain(UpdateQuery)  # as in QuerySet.update()
        values = parameters(rows.model, *changes, "updated_at")
        now = values.pop("updated_at")
        query.add_update_values(
            {**values, "updated_at": time_of_change(rows.model, values, now)}
        )
        sql, params = query.get_compiler(rows.db).as_sql()
        quote = connections[rows.db].ops.quote_name
        returned = ", ".join(
            quote(field.column) for field in _fields(rows.model, deferred)
        )
        super().__init__(
            rows.model,
            rows.db,
            f"{sql} RETURNING {returned}",
            params,
            deferred=deferred,
        )


def _fields(model: Any, deferred: Sequence[str] = ()) -> list[Any]:
    return [
        field for field in model._meta.concrete_fields if field.name not in deferred
    ]


def _compiled(
    rows: models.QuerySet[Any], deferred: Sequence[str]
) -> tuple[str, Sequence[Any]]:
    """Return the SQL and the parameters of a query for the fields of a model."""
    names = [field.attname for field in _fields(rows.model, deferred)]
    query = rows.values_list(*names).query
    sql, params = query.get_compiler(rows.db).as_sql()
    return sql, params
