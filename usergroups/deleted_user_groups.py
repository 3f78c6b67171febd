"""The records of deleted user groups, and how long all records are kept."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

from .api import conf
from .db.deletion_records import DeletionRecord


class UserGroupDeletion(DeletionRecord):
    """Records that a user group of a team was deleted.

    The deletion of the team leaves no records. No API token is left that could
    read them.
    """

    copied = ("team_id", "environment", "provided_id")

    team = models.ForeignKey("Team", models.CASCADE, related_name="+", db_index=False)
    environment = models.CharField(max_length=8, blank=True)
    provided_id = models.CharField(max_length=255)

    class Meta:
        # The records have no page in the admin.
        default_permissions = ()
        indexes = [
            models.Index(
                fields=["team", "environment", "deleted_at", "id"],
                name="usergroups_deletions",
            ),
        ]

    def __str__(self) -> str:
        # The environment may be empty.
        return ", ".join(filter(None, [self.provided_id, self.environment]))

    @property
    def owner(self) -> models.Model:
        return self.team


def oldest_recorded_time() -> datetime:
    """Return the time since when all deletions are recorded. Older records may
    have been deleted.
    """
    return timezone.now() - timedelta(days=conf.deletion_retention_days())
