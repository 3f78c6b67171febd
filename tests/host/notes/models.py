"""The user model of the host, and models that refer to those of the apps with
different kinds of ``on_delete``.
"""

from uuid import uuid4

from django.contrib.auth.models import AbstractUser
from django.db import models

from . import history  # noqa: F401
from .report_tokens import ReportToken

__all__ = [
    "Highlight",
    "Mark",
    "Mention",
    "Note",
    "Person",
    "Pin",
    "Rating",
    "ReportToken",
    "Share",
    "Step",
    "Trace",
]


class Person(AbstractUser):
    id = models.UUIDField(primary_key=True, default=uuid4)


class Note(models.Model):
    # hidden, yet deleted too
    user_group = models.ForeignKey(
        "usergroups.UserGroup", models.CASCADE, related_name="+"
    )
    team = models.ForeignKey("usergroups.Team", models.CASCADE, null=True)
    above = models.ForeignKey("self", models.CASCADE, null=True)


class Mention(models.Model):
    token = models.ForeignKey("usergroups.UserGroup", models.CASCADE, to_field="token")


class Mark(models.Model):
    user_group = models.ForeignKey("usergroups.UserGroup", models.SET_NULL, null=True)


class Rating(models.Model):
    bookmark = models.OneToOneField("bookmarks.Bookmark", models.CASCADE)
    stars = models.PositiveSmallIntegerField()


class Highlight(models.Model):
    # the only relation by which deletions of bookmarks cascade, and hidden
    bookmark = models.ForeignKey("bookmarks.Bookmark", models.CASCADE, related_name="+")


class Trace(models.Model):
    # not null, so that each trace refers to both
    bookmark = models.ForeignKey("bookmarks.Bookmark", models.DO_NOTHING)
    user_group = models.ForeignKey("usergroups.UserGroup", models.DO_NOTHING)


class Pin(models.Model):
    user_group = models.ForeignKey("usergroups.UserGroup", models.PROTECT)


class Share(models.Model):
    bookmark = models.ForeignKey(
        "bookmarks.Bookmark", models.PROTECT, null=True, related_name="+"
    )
    collection = models.ForeignKey(
        "bookmarks.Collection", models.RESTRICT, null=True, related_name="+"
    )


class Step(models.Model):
    note = models.ForeignKey(Note, models.CASCADE, null=True)
    user_group = models.ForeignKey("usergroups.UserGroup", models.RESTRICT)
