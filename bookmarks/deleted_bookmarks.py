"""The records of deleted bookmarks and collections."""

from datetime import datetime
from typing import Self

from django.db import models

from usergroups.db.deletion_records import DeletionRecord
from usergroups.models import UserGroup


class Deletion(DeletionRecord):
    """Records that a bookmark or a collection of a user group was deleted."""

    copied = ("user_group_id",)

    user_group = models.ForeignKey(
        UserGroup, models.CASCADE, related_name="+", db_index=False
    )
    # the name of the model
    object_type = models.CharField(max_length=10)
    object_id = models.UUIDField()

    class Meta:
        # The records have no page in the admin.
        default_permissions = ()
        indexes = [
            models.Index(
                fields=["user_group", "deleted_at", "id"], name="bookmarks_deletions"
            ),
        ]

    def __str__(self) -> str:
        return str(self.object_id)

    @classmethod
    def of(cls, row: models.Model, now: datetime) -> Self:
        record = super().of(row, now)
        record.object_type = str(row._meta.model_name)
        record.object_id = row.pk
        return record

    @property
    def owner(self) -> models.Model:
        return self.user_group
