"""Teams, their user groups, and the tokens that speak for a team."""

from typing import Any

from django.db import models, router, transaction
from django.utils import timezone

from .fields import JSONObjectField
from .tokens.format import generate
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


def new_user_group_token() -> str:
    return generate("ugt")


class UserGroupQuerySet(models.QuerySet["UserGroup"]):
    def visible_to(self, token: ApiToken) -> "UserGroupQuerySet":
        return self.filter(team_id=token.team_id, environment=token.environment)

    def change(self, provided_id: str, **changes: Any) -> "UserGroup":
        """Set the fields in ``changes`` and no others; return the group as it stands afterwards.

        Raises UserGroup.DoesNotExist. Writing only what changed lets two calls that change different fields both last.
        """
        groups = self.using(router.db_for_write(self.model)).filter(provided_id=provided_id)
        with transaction.atomic(using=groups.db):
            if changes:
                groups.update(**changes, updated_at=timezone.now())
            return groups.get()


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

    def __str__(self) -> str:
        return self.name
