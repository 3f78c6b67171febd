"""Write to the right database, announce the writes, detect lost updates, and
retry conflicting transactions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from datetime import datetime
from typing import Any, Self, TypeVar

from django.db import (
    Error,
    IntegrityError,
    OperationalError,
    connections,
    models,
    router,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Case, F, Func, Q, Value, When
from django.db.models.signals import post_save
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .signals import actor, created, deleted, updated

T = TypeVar("T")
M = TypeVar("M", bound=models.Model)

ATTEMPTS = 4
# the SQLSTATEs serialization_failure and deadlock_detected
CONFLICTS = {"40001", "40P01"}

MAX_DELETED = 2_000  # rows at a time, because the query contains their primary keys
MAX_DEPENDANTS = 100_000
"""The maximum number of rows, by one relation, that are deleted or detached
with a row while a client waits.
"""

# in a chain from a row to its dependants, because models may refer to each
# other in a cycle
MAX_FOREIGN_KEYS = 5


class Modified(Exception):
    """The row has changed since the client read it."""


class TooManyDependants(Exception):
    """More rows depend on a row than can be deleted while a client waits.

    The argument is their model.
    """


def announce(
    signal: Signal, instances: Sequence[models.Model], using: str, **arguments: Any
) -> None:
    """Send the signal with copies of the instances when the transaction on the
    database ``using`` is committed.

    Send nothing if there are no instances or no receivers, or if the
    transaction is rolled back. Log the errors of receivers.
    """
    if not instances or not signal.has_listeners(type(instances[0])):
        return
    # The caller may still change the instances. For example, a view adds a
    # token's secret to show it in the response.
    copies, writer = [copy(instance) for instance in instances], actor.get()

    def send() -> None:
        signal.send_robust(
            type(copies[0]), instances=copies, actor=writer, using=using, **arguments
        )

    # robust, because logging a receiver's error may itself fail
    transaction.on_commit(send, using=using, robust=True)


def announce_update(
    instances: Sequence[models.Model], using: str, written: Iterable[str]
) -> None:
    """Announce the update of the editable fields among those with the names
    ``written``, if there are any.
    """
    if instances and updated.has_listeners(type(instances[0])):
        names = set(written)
        editable = (
            field for field in instances[0]._meta.concrete_fields if field.editable
        )
        if fields := {
            field.name for field in editable if names & {field.name, field.attname}
        }:
            announce(updated, instances, using, fields=fields)


def announce_save(
    sender: type[models.Model], instance: models.Model, using: str, **kwargs: Any
) -> None:
    """Announce what ``save()`` has done.

    This is a receiver of Django's signal ``post_save``.
    """
    if kwargs["created"]:
        announce(created, [instance], using)
    else:
        every_field = [
            field.name
            for field in sender._meta.concrete_fields
            if not field.primary_key
        ]
        announce_update([instance], using, kwargs["update_fields"] or every_field)


class WritingQuerySet(models.QuerySet[M]):
    """A queryset with methods that write and announce what they have written.

    Their argument ``versions`` contains the accepted values of the row's
    ``updated_at``, or is None for any.
    """

    @property
    def db_for_write(self) -> str:
        """The database of ``using()``, or else the one that the router chooses
        for writes.
        """
        # as in ``db``
        return self._db or router.db_for_write(self.model, **self._hints)  # type: ignore[attr-defined]

    def for_write(self) -> Self:
        """Return the queryset on the database ``db_for_write``."""
        return self.using(self.db_for_write)

    def update_version(self, versions: Sequence[datetime] | None, **changes: Any) -> M:
        """Update the queryset's only row and return it.

        Call this in a transaction.

        If the row has these values already, its ``updated_at`` does not change
        either, and nothing is announced. Raises DoesNotExist, or Modified if
        the row has another version.
        """
        now = timezone.now()
        if not changes:
            self.require_version(versions)
        else:
            rows = self if versions is None else self.filter(updated_at__in=versions)
            count = rows.update(
                **changes, updated_at=time_of_change(self.model, changes, Value(now))
            )
            if not count and versions is not None and self.exists():
                raise Modified
        row = self.get()
        if row.updated_at == now:  # type: ignore[attr-defined]
            announce_update([row], self.db, changes)
        return row

    def delete_version(self, versions: Sequence[datetime] | None) -> None:
        """Delete the queryset's only row.

        Raises DoesNotExist, Modified or TooManyDependants.
        """

        def delete() -> int:
            self.require_version(versions)
            self.require_few_dependants()
            return self._delete()[0]

        if not retry_on_conflict(delete, self.db):
            raise self.model.DoesNotExist  # type: ignore[attr-defined]

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the rows and their dependants in one transaction.

        Announce the deletion of the rows only.
        """
        rows = self.for_write()
        return retry_on_conflict(rows._delete, rows.db)

    # as in Django: managers do not have it
    delete.queryset_only = True  # type: ignore[attr-defined]

    def _delete(self) -> tuple[int, dict[str, int]]:
        """Do what ``delete()`` does, in the current transaction and database."""
        is_announced = deleted.has_listeners(self.model)
        if not is_announced and not self.model._meta.related_objects:
            return super().delete()
        rows, counts = (
            self.select_related(None).defer(None).order_by("pk"),
            Counter[str](),
        )
        # PostgreSQL cannot lock the rows of such a query.
        if rows.query.distinct or rows.query.group_by:
            rows = type(self)(self.model, using=self.db).filter(
                pk__in=list(rows.values_list("pk", flat=True))
            )
        # Lock the rows first, so that a concurrent insert of a dependant
        # waits, and then fails.
        locked = list((rows if is_announced else rows.only("pk")).select_for_update())
        announce(deleted, locked, self.db)
        keys = [row.pk for row in locked]
        self.release_dependants(keys)
        for start in range(0, len(keys), MAX_DELETED):
            chunk = rows.order_by().filter(pk__in=keys[start : start + MAX_DELETED])
            counts.update(super(WritingQuerySet, chunk).delete()[1])
        return counts.total(), dict(counts)

    def release_dependants(self, keys: Sequence[Any]) -> None:
        """Detach the dependants that are kept when the rows with these keys
        are deleted. By default, there are none.
        """

    def require_few_dependants(self) -> None:
        """Raise TooManyDependants if more than MAX_DEPENDANTS rows depend on
        the rows by one relation.
        """
        if self.model._meta.related_objects:
            for rows in self.dependants(list(self.values_list("pk", flat=True))):
                if rows[: MAX_DEPENDANTS + 1].count() > MAX_DEPENDANTS:
                    raise TooManyDependants(rows.model)

    def dependants(self, keys: Sequence[Any]) -> Iterator[models.QuerySet[Any]]:
        """Yield, for each relation, the rows deleted with the rows of these
        keys. A subclass adds those it detaches.
        """
        for relation, path in cascading_relations(self.model):
            yield relation.related_model._base_manager.using(self.db).filter(
                **{f"{path}__pk__in": keys}
            )

    def require_version(self, versions: Sequence[datetime] | None) -> None:
        """Lock the row and check its version, unless ``versions`` is None.

        Raises DoesNotExist or Modified.
        """
        if versions is None:
            return
        if (
            self.select_for_update().values_list("updated_at", flat=True).get()
            not in versions
        ):
            raise Modified


class IsSame(Func):
    """Whether two values are equal, or are both null."""

    arg_joiner = " IS NOT DISTINCT FROM "
    template = "%(expressions)s"
    output_field = models.BooleanField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, arg_joiner=" IS ", **context)


def time_of_change(
    model: type[models.Model], changes: Mapping[str, Any], now: Any
) -> Case:
    """Return the new value of ``updated_at``: ``now``, or the old value if the
    row has all values in ``changes``.

    The values may be expressions.
    """
    same = Q()
    for name, value in changes.items():
        field: Any = model._meta.get_field(name)
        is_expression = hasattr(value, "resolve_expression")
        new = (
            value
            if is_expression
            else Value(
                getattr(value, "pk", value), getattr(field, "target_field", field)
            )
        )
        same &= Q(IsSame(F(field.attname), new))
    return Case(When(same, then=F("updated_at")), default=now)


class WritingModel(models.Model):
    """A model whose writes are announced by signals.

    Its manager is made from a WritingQuerySet.
    """

    class Meta:
        abstract = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        post_save.connect(announce_save, sender=cls)

    def delete(
        self, using: str | None = None, keep_parents: bool = False
    ) -> tuple[int, dict[str, int]]:
        """Delete this row as ``WritingQuerySet.delete()`` does."""
        rows = type(self)._default_manager.using(
            using or router.db_for_write(type(self), instance=self)
        )
        return rows.filter(pk=self.pk).delete()


class DatedModel(WritingModel):
    """A model whose rows have the times of their creation and of their last
    change, which are equal at first.
    """

    created_at = models.DateTimeField(
        _("created"), default=timezone.now, editable=False
    )
    updated_at = models.DateTimeField(
        _("updated"), default=timezone.now, editable=False
    )

    class Meta:
        abstract = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # a new row with both defaults
        if not args and kwargs.keys().isdisjoint(("created_at", "updated_at")):
            self.updated_at = self.created_at


def cascading_relations(
    model: type[models.Model], path: str = ""
) -> Iterator[tuple[models.ForeignObjectRel, str]]:
    """Yield the direct and indirect relations by which deletions in ``model``
    cascade, with the lookups back to it.
    """
    for relation in model._meta.get_fields(include_hidden=True):
        if (
            isinstance(relation, models.ManyToOneRel)
            and relation.on_delete is models.CASCADE
        ):
            lookup = f"{relation.field.name}__{path}".removesuffix("__")
            yield relation, lookup
            if lookup.count("__") + 1 < MAX_FOREIGN_KEYS:
                # Their lookups end with this one.
                yield from cascading_relations(relation.related_model, lookup)


def in_autocommit(connection: BaseDatabaseWrapper) -> bool:
    """Return whether each statement commits by itself, because no transaction
    is open.
    """
    return not connection.in_atomic_block and connection.get_autocommit()


def sqlstate_of(error: Error) -> str | None:
    """Return PostgreSQL's code of a database error, or None."""
    cause = error.__cause__
    return getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)


def retry_on_conflict(
    action: Callable[[], T],
    using: str,
    explain: Callable[[], None] = lambda: None,
    *,
    atomic: bool = True,
) -> T:
    """Run ``action`` in a transaction and return its result.

    Retry it if it conflicts with another transaction.

    An action that writes with a single statement needs no transaction of its
    own (``atomic=False``).

    A conflict is a deadlock, a serialization failure or an IntegrityError.
    There are at most four attempts, and the error of the last one is raised.
    After an IntegrityError, ``explain`` is called outside the transaction. It
    raises a clearer exception, or returns if it finds no reason, since the
    conflicting row may have been deleted.
    """
    # An outer transaction needs a savepoint.
    attempts, atomic = 1, atomic or not in_autocommit(connections[using])
    while True:
        try:
            with transaction.atomic(using=using) if atomic else nullcontext():
                return action()
        except IntegrityError:
            explain()
            if attempts == ATTEMPTS:
                raise
        except OperationalError as error:
            # The conflict has also rolled back any outer transaction, which
            # only the code that began it can retry.
            if (
                sqlstate_of(error) not in CONFLICTS
                or attempts == ATTEMPTS
                or connections[using].in_atomic_block
            ):
                raise
        attempts += 1
