"""Statements that the ORM compiles once, and that run with new values after that.

The ORM takes several times as long to build and compile a query as the database takes to execute it. The statements of
the most frequent calls are therefore compiled from querysets with a Parameter in place of each value, and kept. The
models and querysets remain the only description of the schema and of the rules.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql import UpdateQuery

from .prepared_statements import Row, execute

M = TypeVar("M", bound=models.Model)


class Parameter(models.Expression):
    """The place of a value that is given when the statement runs, and converted as the values of ``field`` are."""

    def __init__(self, name: str, field: "models.Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return "%s", [self]

    def bind(self, values: Mapping[str, Any], connection: BaseDatabaseWrapper) -> Any:
        """Return the value as the database driver expects it."""
        return self.output_field.get_db_prep_value(values[self.name], connection)


class StoredParameter(Parameter):
    """The place of a value that is stored in ``field``."""

    def bind(self, values: Mapping[str, Any], connection: BaseDatabaseWrapper) -> Any:
        return self.output_field.get_db_prep_save(values[self.name], connection)


def parameters(model: type[models.Model], *names: str) -> dict[str, Parameter]:
    """Return a parameter for each of these fields, by name. A name may be that of a foreign key's column."""
    return {name: Parameter(name, model._meta.get_field(name)) for name in names}  # type: ignore[arg-type]


def stored_parameters(model: type[models.Model], *names: str) -> dict[str, Parameter]:
    """Return a parameter for the new value of each of these fields, by name."""
    return {name: StoredParameter(name, model._meta.get_field(name)) for name in names}  # type: ignore[arg-type]


class Statement(Generic[M]):
    """A compiled statement, whose columns are those of ``model`` and then those of its relation ``related``."""

    reads = False
    """Whether the statement only reads, so that it may be executed again if the connection turns out to be broken."""

    def __init__(self, model: type[M], using: str, sql: str, params: Sequence[Any], related: str | None = None) -> None:
        self.model, self.using, self.sql, self.params = model, using, sql, params
        options: Any = model._meta
        self.relation = options.get_field(related) if related else None
        self.names = [field.attname for field in options.concrete_fields]
        related_fields = self.relation.related_model._meta.concrete_fields if self.relation else ()
        self.related_names = [field.attname for field in related_fields]
        self.converters = [
            (position, converter, field.cached_col)
            for position, field in enumerate([*options.concrete_fields, *related_fields])
            for converter in _converters(field.cached_col, connections[using])
        ]

    def __call__(self, **values: Any) -> list[M]:
        """Execute the statement with these values of its parameters, and return the instances of its rows."""
        return [self._load(row) for row in self._rows(values)]

    def _rows(self, values: Mapping[str, Any]) -> list[Row]:
        connection = connections[self.using]
        params = [param.bind(values, connection) if isinstance(param, Parameter) else param for param in self.params]
        return execute(connection, self.sql, params, reads=self.reads)

    def _load(self, row: Row) -> M:
        if self.converters:
            connection, converted = connections[self.using], list(row)
            for position, converter, expression in self.converters:
                converted[position] = converter(converted[position], expression, connection)
            row = converted
        own = len(self.names)
        instance = self.model.from_db(self.using, self.names, row[:own])
        if self.relation:
            values = row[own:]
            model = self.relation.related_model
            exists = values[self.related_names.index(model._meta.pk.attname)] is not None
            related = model.from_db(self.using, self.related_names, values) if exists else None
            self.relation.set_cached_value(instance, related)
        return instance


class Select(Statement[M]):
    """Reads the rows of a queryset, with the rows of the relation ``related``."""

    reads = True

    def __init__(self, rows: models.QuerySet[M], related: str | None = None) -> None:
        names = [field.attname for field in rows.model._meta.concrete_fields]
        if related:
            other: Any = rows.model._meta.get_field(related).related_model
            names += [f"{related}__{field.attname}" for field in other._meta.concrete_fields]
        sql, params = rows.values_list(*names).query.get_compiler(rows.db).as_sql()
        super().__init__(rows.model, rows.db, sql, params, related)


class Update(Statement[M]):
    """Sets the fields with the names ``changes`` of the rows of a queryset, and returns the rows."""

    def __init__(self, rows: models.QuerySet[M], *changes: str) -> None:
        query: Any = rows.query.chain(UpdateQuery)  # as in QuerySet.update()
        query.add_update_values(stored_parameters(rows.model, *changes))
        sql, params = query.get_compiler(rows.db).as_sql()
        returned = _columns(rows.model, connections[rows.db])
        super().__init__(rows.model, rows.db, f"{sql} RETURNING {', '.join(returned)}", params)


class Insert(Statement[M]):
    """Inserts an instance unless it conflicts with an existing row. Call ``insert()`` instead of the statement."""

    def __init__(self, model: type[M], using: str) -> None:
        quote = connections[using].ops.quote_name
        columns = ", ".join(_columns(model, connections[using]))
        names = [field.attname for field in model._meta.concrete_fields]
        values = ", ".join(["%s"] * len(names))
        into = f"INSERT INTO {quote(model._meta.db_table)} ({columns})"
        sql = f"{into} VALUES ({values}) ON CONFLICT DO NOTHING RETURNING 1"
        super().__init__(model, using, sql, [*stored_parameters(model, *names).values()])

    def insert(self, instance: M) -> bool:
        """Insert an instance and return whether it did not conflict."""
        values = {field.attname: field.pre_save(instance, add=True) for field in self.model._meta.concrete_fields}
        if not self._rows(values):
            return False
        instance._state.adding, instance._state.db = False, self.using
        return True


def _columns(model: Any, connection: BaseDatabaseWrapper) -> list[str]:
    return [connection.ops.quote_name(field.column) for field in model._meta.concrete_fields]


def _converters(expression: Any, connection: BaseDatabaseWrapper) -> list[Any]:
    return [*connection.ops.get_db_converters(expression), *expression.get_db_converters(connection)]
