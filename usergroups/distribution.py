"""Locks and filters for tables whose rows are distributed over the shards of Citus or the partitions of PostgreSQL.

The attribute ``distributed_by`` of a model names the column by which its rows are distributed, even on a database where
they are not. This module imports no other module of the project.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import NotSupportedError, models, transaction

Key = tuple[Any, ...]
"""The values of the ``key_columns`` of a row."""


def key_columns(model: type[models.Model]) -> tuple[str, ...]:
    """Return the names of the primary key and of the column that distributes the rows, if there is one."""
    column = getattr(model, "distributed_by", None)
    return ("pk", column) if isinstance(column, str) else ("pk",)


def is_distributed(model: type[models.Model]) -> bool:
    """Return whether the model has a column that distributes its rows."""
    return len(key_columns(model)) > 1


def row_filter(row: models.Model) -> dict[str, Any]:
    """Return a filter for this row."""
    return {column: getattr(row, column) for column in key_columns(type(row))}


def rows_filter(model: type[models.Model], keys: Sequence[Key]) -> dict[str, Any]:
    """Return a filter for the rows with these values of ``key_columns``."""
    return {f"{column}__in": list({key[n]: None for key in keys}) for n, column in enumerate(key_columns(model))}


def parts(rows: models.QuerySet[Any]) -> Iterator[models.QuerySet[Any]]:
    """Yield the rows in parts that Citus can lock, each of them in one statement."""
    if not is_distributed(rows.model):
        yield rows
        return
    _, column = key_columns(rows.model)
    for value in rows.order_by(column).values_list(column, flat=True).distinct():
        yield rows.filter(**{column: value})


def lock(rows: models.QuerySet[Any], **options: Any) -> list[Any]:
    """Lock the rows until the transaction ends, and return them. ``options`` are those of ``select_for_update``.

    Citus refuses to lock rows of several shards in one statement. It then takes a statement for each part.
    """
    if not is_distributed(rows.model):
        return list(rows.select_for_update(**options))
    try:
        with transaction.atomic(using=rows.db):
            return list(rows.select_for_update(**options))
    except NotSupportedError:
        return [row for part in parts(rows) for row in part.select_for_update(**options)]
