"""Delete rows that may have millions of dependants.

A row with few dependants is deleted with them in one transaction. Deleting many dependants at once would take long,
and on SQLite would block all other writes. Such a row is therefore soft-deleted (hidden), and a thread deletes its
dependants and finally the row in chunks, each in its own transaction. If the process ends before that, the next
process that calls ``resume_deletions()``, the next such deletion or ``manage.py finish_deletions`` continues the work.
"""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, TypeVar

from django.apps import apps
from django.db import DatabaseError, connections, models, router, transaction
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from .dependants import cascades, dependent_rows, refers_to
from .distribution import Key, key_columns, lock, parts, row_filter, rows_filter
from .signals import announce, deleted
from .transactions import WritingModel, WritingQuerySet, retry_on_conflict

logger = logging.getLogger(__name__)

CHUNK_SIZE = 2_000  # rows
MAX_ROWS = 100  # hidden rows whose dependants are deleted together

M = TypeVar("M", bound=models.Model)

_background_lock = threading.Lock()


class DeletableQuerySet(WritingQuerySet[M]):
    """Deletes rows that have few dependants, and hides other rows until a thread has deleted them."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete or hide the rows. Return the same as Django's method, for the rows deleted or hidden so far."""
        rows = self.for_write()
        result, is_finished = retry_on_conflict(rows._delete_or_hide, rows.db)
        if not is_finished:
            transaction.on_commit(lambda: _in_background(rows.db), using=rows.db)
        return result

    delete.queryset_only = True  # type: ignore[attr-defined]  # as in Django: managers do not have it

    def delete_hidden(self) -> bool:
        """Delete a chunk of the dependants of hidden rows, or the rows themselves if they have none left.

        Return whether there were hidden rows. Rows that another process has locked are skipped.
        """
        hidden = type(self)(self.model, using=self.db).exclude(deleted_at=None).order_by("pk")
        for part in parts(hidden):
            unlocked = part.select_for_update(skip_locked=True).values_list(*key_columns(self.model))
            if keys := list(unlocked[:MAX_ROWS]):
                if not self.delete_chunk(keys):
                    self._delete_rows(keys)
                return True
        return False

    def delete_chunk(self, keys: Sequence[Key]) -> bool:
        """Delete up to CHUNK_SIZE dependants of each model, and return whether there are more."""
        unfinished, primary_keys = set[Any](), [key[0] for key in keys]
        for model, path in cascades(self.model):
            if any(refers_to(other, model) for other in unfinished):
                continue
            rows = model._base_manager.using(self.db)
            found = rows.filter(**{f"{path}__pk__in": primary_keys}).values_list(*key_columns(model))
            chunk = list(found[:CHUNK_SIZE])
            rows.filter(**rows_filter(model, chunk)).delete()
            if len(chunk) == CHUNK_SIZE:
                unfinished.add(model)
        return bool(unfinished)

    def can_delete_at_once(self, keys: Sequence[Key]) -> bool:
        """Return whether to delete the rows at once: they have few dependants, or protected ones make it fail."""
        protecting, cascading = dependent_rows(self.model, [key[0] for key in keys], self.db)
        few = (rows[: CHUNK_SIZE + 1].count() <= CHUNK_SIZE for rows in cascading)
        return any(rows.exists() for rows in protecting) or all(few)

    def hidden_values(self) -> dict[str, Any]:
        """Return the values of the fields that hide a row."""
        return {"deleted_at": timezone.now()}

    def _delete_or_hide(self) -> tuple[tuple[int, dict[str, int]], bool]:
        # Lock the rows first, so that a concurrent insert of a dependant waits and then fails.
        keys = self._lock_and_announce()
        if not keys or self.can_delete_at_once(keys):
            return self._delete_rows(keys), True
        self.delete_chunk(keys)  # The lock is held anyway, so use it for the first chunk.
        hidden = self.filter(**rows_filter(self.model, keys)).update(**self.hidden_values())
        return (hidden, {self.model._meta.label: hidden}), False

    def _lock_and_announce(self) -> list[Key]:
        """Lock the rows, announce their deletion, and return their keys."""
        rows, columns = self.select_related(None).defer(None).order_by("pk"), key_columns(self.model)
        if not deleted.has_listeners(self.model):
            return lock(rows.values_list(*columns))
        announce(deleted, locked := lock(rows), rows.db)
        return [tuple(getattr(row, column) for column in columns) for row in locked]

    def _delete_rows(self, keys: Sequence[Key]) -> tuple[int, dict[str, int]]:
        return models.QuerySet(self.model, using=self.db).filter(**rows_filter(self.model, keys)).delete()


class HidingManager(models.Manager[M]):
    """Excludes hidden rows."""

    @cached_property
    def _visible_rows(self) -> Any:
        return super().get_queryset().filter(deleted_at=None)

    def get_queryset(self) -> Any:
        rows = self._visible_rows.using(self._db)  # Copying the filter takes a fraction of the time to build it.
        rows._hints = self._hints  # type: ignore[attr-defined]  # as in Django's own managers
        return rows


class DeletableModel(WritingModel):
    """A model whose rows may have millions of dependants. Its manager is a HidingManager with a DeletableQuerySet."""

    deleted_at = models.DateTimeField(_("deleted"), null=True, editable=False)

    class Meta:
        abstract = True

    def validate_constraints(self, exclude: Any = None) -> None:
        # Django skips constraints whose condition has an excluded field, and forms exclude this one.
        super().validate_constraints(set(exclude or ()) - {"deleted_at"})

    def delete(self, using: str | None = None, keep_parents: bool = False) -> tuple[int, dict[str, int]]:
        """Delete or hide the row. Raises DoesNotExist if it is already deleted or hidden."""
        rows = type(self)._default_manager.using(using or router.db_for_write(type(self), instance=self))
        result = rows.filter(**row_filter(self)).delete()
        if not result[0]:
            raise type(self).DoesNotExist
        return result


def finish_deletions(using: str) -> None:
    """Delete all hidden rows. Pause after each chunk for as long as it took, so that other writes can proceed."""
    for model in apps.get_models():
        if issubclass(model, DeletableModel):
            rows, start = model.objects.using(using), time.monotonic()  # type: ignore[attr-defined]
            while retry_on_conflict(rows.delete_hidden, using):
                time.sleep(time.monotonic() - start)
                start = time.monotonic()


def resume_deletions() -> None:
    """Continue deletions that an earlier process left unfinished. Call this when a server process starts."""
    for using in {router.db_for_write(model) for model in apps.get_models() if issubclass(model, DeletableModel)}:
        _in_background(using)


def _in_background(using: str) -> None:
    def run() -> None:
        try:
            with _background_lock:
                finish_deletions(using)
        except DatabaseError as error:
            logger.warning("A deletion was not finished and will be continued later: %s", type(error).__name__)
        except Exception:
            logger.exception("A deletion was not finished. The next one or manage.py finish_deletions will continue it")
        finally:
            connections[using].close()

    threading.Thread(target=run, name="finish_deletions", daemon=True).start()
