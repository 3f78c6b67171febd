"""Teams, their user groups, and the tokens that speak for a team."""

from typing import Any

from django.db import models
from django.utils import timezone

from .deletion import DeletableModel, DeletableQuerySet, HidingManager
from .fields import JSONObjectField
from .querysets import UserGroupQuerySet
from .tokens import secret_format
from .tokens.models import Token


class Environment(models.TextChoices):
    CUSTOMER = "Customer"
    TESTING = "Testing"


class Team(DeletableModel):
    """The tenant: who owns user groups and API tokens."""

    objects = HidingManager.from_queryset(DeletableQuerySet)()

    name = models.CharField(max_length=255, unique=True, help_text="Seen by operators only; callers know the id.")

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
        permissions = [("revoke_apitoken", "Can revoke API token")]

    @property
    def scope(self) -> dict[str, Any]:
        """The fields that all user groups have in common that the token sees."""
        return {"team_id": self.team_id, "environment": self.environment}


def new_user_group_token() -> str:
    return secret_format.generate("ugt")


class UserGroup(DeletableModel):
    """A customer of the team's: whoever views a dashboard with its token sees its data."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="user_groups", db_index=False)
    environment = models.CharField(
        max_length=8,
        choices=Environment,
        blank=True,
        help_text="Only API tokens of the same environment reach the group. Empty: those of none.",
    )
    provided_id = models.CharField(
        "provided id", max_length=255, help_text="The caller's own id of the group: user_group_id in a call."
    )
    name = models.CharField(max_length=255, help_text="What callers call the group; they may change it.")
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

    objects = HidingManager.from_queryset(UserGroupQuerySet)()

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
        identity = (str(self.team), self.environment, self.provided_id)
        return f"{self.name} ({', '.join(filter(None, identity))})"

    def assign(self, fields: dict[str, Any]) -> "UserGroup":
        """Set these fields, and when they were set, on the instance alone."""
        for name, value in {**fields, "updated_at": timezone.now()}.items():
            setattr(self, name, value)
        return self
