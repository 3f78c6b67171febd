"""Records of deletions, from which clients learn what no longer exists.

``WritingQuerySet.record_deletions`` writes them, in each way to delete. The
modules ``deleted_user_groups`` and ``deleted_bookmarks`` have the models.
"""

from datetime import datetime
from typing import ClassVar, Self

from django.db import models
from uuid_utils.compat import uuid7


class DeletionRecord(models.Model):
    """Records that a row was deleted.

    A subclass adds the owner of the row, and what identifies the row to
    clients. Its rows have their own keys, because a row may be loaded again
    from a backup, and then be deleted a second time.
    """

    copied: ClassVar[tuple[str, ...]]
    """The columns that the record copies from the deleted row."""

    id = models.UUIDField("ID", primary_key=True, default=uuid7, editable=False)
    deleted_at = models.DateTimeField(editable=False)

    class Meta:
        abstract = True

    @classmethod
    def of(cls, row: models.Model, now: datetime) -> Self:
        """Return the record, which is not saved, of a row that is deleted."""
        copies = {name: getattr(row, name) for name in cls.copied}
        return cls(deleted_at=now, **copies)

    @property
    def owner(self) -> models.Model:
        """The row to which the deleted row belonged."""
        raise NotImplementedError
