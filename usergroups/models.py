"""Teams, their user groups, and the tokens that speak for a team."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import models, router, transaction
from django.db.models.functions import Left
from django.utils import timezone

from .fields import JSONObjectField
from .tokens import format as token_format
from .tokens.models import Token


class Environment(models.TextChoices):
    CUSTOMER = "Customer"
    TESTING = "Testing"


class Team(models.Model):
    """The tenant: who owns user groups and API tokens."""

    name = models.CharField(max_length=255, unique=True)

    def __str__(self) -> str:
        return self.name


class ApiToken(Token):
    """Speaks for a team in one environment: it sees the team's user groups there and no others."""

    prefix = "uga"
    owner_field = "team"

    team = models.ForeignKey(Team, models.CASCADE, related_name="api_tokens")
    environment = models.CharField(
        max_length=8,
        choices=Environment,
        blank=True,
        help_text="The token reaches the user groups of this environment only. Empty: those of none.",
    )

    class Meta:
        verbose_name = "API token"

    @property
    def scope(self) -> dict[str, Any]:
        """The fields that all user groups have in common that the token sees."""
        return {"team_id": self.team_id, "environment": self.environment}


CHANGEABLE = ["name", "mapping", "properties", "updated_at"]


def new_user_group_token() -> str:
    return token_format.generate("ugt")


class UserGroupQuerySet(models.QuerySet["UserGroup"]):
    def visible_to(self, token: ApiToken) -> "UserGroupQuerySet":
        return self.filter(**token.scope)

    def named_from(self, beginning: str) -> "UserGroupQuerySet":
        """Those whose name begins with this text, letter case told apart, as SQLite's LIKE does not."""
        return self.alias(beginning=Left("name", len(beginning))).filter(beginning=beginning)

    def change(self, provided_id: str, **changes: Any) -> "UserGroup":
        """Set the fields in ``changes`` and no others; return the group as it stands afterwards.

        Raises UserGroup.DoesNotExist. Writing only what changed lets two calls that change different fields both last.
        """
        groups = self.using(router.db_for_write(self.model)).filter(provided_id=provided_id)
        with transaction.atomic(using=groups.db):
            if changes:
                groups.update(**changes, updated_at=timezone.now())
            return groups.get()

    def rotate_token(self, provided_id: str) -> "UserGroup":
        """Give the group a new token; the old one is gone. Raises UserGroup.DoesNotExist."""
        return self.change(provided_id, token=new_user_group_token())

    def remove(self, provided_id: str) -> None:
        """Delete the group with all that belongs to it. Raises UserGroup.DoesNotExist."""
        groups = self.using(router.db_for_write(self.model))
        with transaction.atomic(using=groups.db):
            # Locked, so that of two calls it is the one that adds something to the group that waits, and fails.
            groups.select_for_update().get(provided_id=provided_id).delete()

    def put(self, items: Sequence[dict[str, Any]], **scope: Any) -> list[tuple["UserGroup", bool]]:
        """Change or make a group for each item, a dict of ``provided_id`` and fields; return it and whether it is new.

        ``scope`` is the team and environment of all. What an item leaves out stays as it is. Either all items are done
        or none; where several are for one group, the later fields count. Raises IntegrityError if the team is deleted
        at the same moment.
        """
        groups = self.using(router.db_for_write(self.model)).filter(**scope)
        wanted: dict[str, dict[str, Any]] = {}
        for item in items:
            wanted.setdefault(item["provided_id"], {}).update(item)
        new: set[str] = set()
        with transaction.atomic(using=groups.db):
            found = groups.locked(wanted)
            while missing := wanted.keys() - found.keys():  # again, if what was in the way is gone by now
                made = [UserGroup(**scope, **{"name": key, **wanted[key]}) for key in sorted(missing)]
                groups.bulk_create(made, ignore_conflicts=True)
                found |= groups.locked(missing)
                tokens = {group.token for group in made}
                new |= {key for key in missing & found.keys() if found[key].token in tokens}
            changed = [found[key].assign(wanted[key]) for key in wanted.keys() - new if len(wanted[key]) > 1]
            # The rows are there and locked: this only updates, ten times as fast as bulk_update().
            groups.bulk_create(changed, update_conflicts=True, unique_fields=["pk"], update_fields=CHANGEABLE)
        results = []
        for key in (item["provided_id"] for item in items):
            results.append((found[key], key in new))
            new.discard(key)
        return results

    def locked(self, provided_ids: Iterable[str]) -> dict[str, "UserGroup"]:
        """Return those of these groups that there are, by id; until the transaction ends nobody else changes them."""
        groups = self.filter(provided_id__in=provided_ids).select_for_update().order_by("pk")
        return {group.provided_id: group for group in groups}


class UserGroup(models.Model):
    """A customer of the team's: whoever views a dashboard with its token sees its data."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="user_groups", db_index=False)
    environment = models.CharField(max_length=8, choices=Environment, blank=True)
    provided_id = models.CharField(
        "provided id", max_length=255, help_text="The caller's own id of the group: user_group_id in a call."
    )
    name = models.CharField(max_length=255)
    token = models.CharField(
        "user group token",
        max_length=64,
        unique=True,
        default=new_user_group_token,
        editable=False,
        help_text="Tells a dashboard who is viewing it. It opens nothing on this service.",
    )
    mapping = JSONObjectField(
        default=dict, blank=True, help_text="Schema id to data source, or to the caller's id of the data source."
    )
    properties = JSONObjectField(null=True, blank=True, help_text="Variables for dashboards and the SQL editor.")
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)
    updated_at = models.DateTimeField("updated", default=timezone.now, editable=False)

    objects = UserGroupQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "environment", "provided_id"],
                name="usergroups_provided_id",
                violation_error_message="The team has a user group with this id in this environment.",
            ),
        ]
        indexes = [
            models.Index(fields=["team", "environment", "created_at", "provided_id"], name="usergroups_by_creation"),
        ]

    def __str__(self) -> str:
        return self.name

    def assign(self, fields: dict[str, Any]) -> "UserGroup":
        """Set these fields, and when they were set, on the instance alone."""
        for name, value in {**fields, "updated_at": timezone.now()}.items():
            setattr(self, name, value)
        return self
