"""Teams, their user groups and their API tokens."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower, Trim
from django.utils.translation import gettext_lazy as _

from .db.models import DatedModel, NotedModel
from .db.storable_text import require_storable_object
from .db.stored_json import JSONObjectField
from .querysets import (
    LARGE_FIELDS,
    ErasingQuerySet,
    Scope,
    UserGroupManager,
    UserGroupQuerySet,
)
from .tokens import secret_format
from .tokens.models import Token, indexes_for_lists

MAX_NAME_LENGTH = 255
MAX_ID_LENGTH = 255
MAX_DATA_SOURCE_LENGTH = 255
MAX_ENVIRONMENT_LENGTH = 8  # the length of "Customer"
MAX_USER_GROUP_TOKEN_LENGTH = 64
USER_GROUP_TOKEN_PREFIX = "ugt"  # noqa: S105


class Environment(models.TextChoices):
    """The environments of user groups and API tokens.

    Empty text stands for none.
    """

    CUSTOMER = "Customer"
    TESTING = "Testing"


class TeamQuerySet(ErasingQuerySet["Team"]):
    """Deletes teams with their user groups."""

    event_lookups = ("user_group__team", "team")

    def prepare_deletion(self, keys: Sequence[Any]) -> None:
        """Also lock the user groups, so that concurrent inserts of their
        dependants wait, and then fail.
        """
        groups = UserGroup.objects.using(self.db).filter(team__in=keys)
        to_lock = groups.select_for_update().order_by("pk")
        list(to_lock.values_list("pk", flat=True))
        super().prepare_deletion(keys)


class Team(NotedModel):
    """A tenant, which owns user groups and API tokens."""

    objects = TeamQuerySet.as_manager()

    name = models.CharField(
        _("name"),
        max_length=MAX_NAME_LENGTH,
        validators=[RegexValidator(r"\S", _("The name must not be blank."))],
        help_text=_("Shown to operators only. API clients see the id."),
    )

    class Meta:
        verbose_name = _("team")
        verbose_name_plural = _("teams")
        # SQLite ignores the letter case of ASCII letters only.
        constraints = [
            models.UniqueConstraint(
                Lower(Trim("name")),
                name="usergroups_team_name",
                violation_error_message=_("Team with this name already exists."),
            )
        ]
        # for the order of the admin's list, and for look-ups by name
        indexes = [models.Index(fields=["name"], name="usergroups_team_by_name")]

    def __str__(self) -> str:
        return self.name


class ApiToken(Token):
    """Authenticates a team, and gives access to the team's user groups in one
    environment.
    """

    prefix = "uga"
    owner_field = "team"

    team = models.ForeignKey(
        Team,
        models.CASCADE,
        related_name="api_tokens",
        db_index=False,  # The first index below begins with the team.
        verbose_name=_("team"),
    )
    environment = models.CharField(
        _("environment"),
        max_length=MAX_ENVIRONMENT_LENGTH,
        choices=Environment,
        blank=True,
        help_text=_(
            "The token gives access only to user groups in this environment. If empty, "
            "only to those without an environment."
        ),
    )

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        permissions = [("revoke_apitoken", "Can revoke API token")]
        indexes = [
            models.Index(
                fields=["team", "created_at"], name="usergroups_tokens_by_team"
            ),
            *indexes_for_lists("usergroups"),
        ]

    @property
    def scope(self) -> Scope:
        """The fields that select the user groups of the token."""
        return {"team_id": self.team_id, "environment": self.environment}


def new_user_group_token() -> str:
    """Return a new random user group token, the default of
    ``UserGroup.token``.
    """
    return secret_format.generate(USER_GROUP_TOKEN_PREFIX)


def is_data_source(value: object) -> bool:
    """Return whether a schema id can be mapped to this value."""
    # isinstance() would accept True as an integer.
    if type(value) is int:
        return True
    return type(value) is str and 0 < len(value) <= MAX_DATA_SOURCE_LENGTH


class UserGroup(NotedModel, DatedModel):
    """A customer of a team.

    A dashboard that is rendered with the group's token shows the group's data.
    """

    team = models.ForeignKey(
        Team,
        models.CASCADE,
        related_name="user_groups",
        db_index=False,
        verbose_name=_("team"),
    )
    environment = models.CharField(
        _("environment"),
        max_length=MAX_ENVIRONMENT_LENGTH,
        choices=Environment,
        blank=True,
        help_text=_(
            "Only API tokens of the same environment give access to the group. If "
            "empty, only those without an environment."
        ),
    )
    provided_id = models.CharField(
        _("provided id"),
        max_length=MAX_ID_LENGTH,
        help_text=_("Your own id of the user group: user_group_id in the API."),
    )
    name = models.CharField(
        _("name"),
        max_length=MAX_NAME_LENGTH,
        help_text=_("The group's name, which applications may change."),
    )
    token = models.CharField(
        _("user group token"),
        max_length=MAX_USER_GROUP_TOKEN_LENGTH,
        default=new_user_group_token,
        editable=False,
        help_text=_(
            "Identifies the group to dashboards. It gives no access to this service."
        ),
    )
    mapping = JSONObjectField(
        _("mapping"),
        default=dict,
        blank=True,
        help_text=_(
            "Maps each schema id to a data source, or to your own id of the data "
            "source."
        ),
    )
    properties = JSONObjectField(
        _("properties"),
        null=True,
        blank=True,
        help_text=_("Variables for dashboards and the SQL editor."),
    )

    rows = UserGroupQuerySet.as_manager()
    objects = UserGroupManager.from_queryset(UserGroupQuerySet)()

    class Meta:
        verbose_name = _("user group")
        verbose_name_plural = _("user groups")
        permissions = [("reveal_usergroup_token", "Can reveal user group token")]
        constraints = [
            # Its index also serves queries by ``team``.
            models.UniqueConstraint(
                fields=["team", "environment", "provided_id"],
                name="usergroups_provided_id",
            ),
            # With unique=True, Django would also create an index for LIKE on
            # PostgreSQL.
            models.UniqueConstraint(fields=["token"], name="usergroups_token"),
        ]
        indexes = [
            models.Index(
                fields=["team", "environment", "created_at", "provided_id"],
                name="usergroups_by_creation",
            ),
            models.Index(
                fields=["team", "environment", "updated_at", "provided_id"],
                name="usergroups_by_update",
            ),
        ]

    def __str__(self) -> str:
        identity = [str(self.team), self.environment, self.provided_id]
        # The environment may be empty.
        listed = ", ".join(filter(None, identity))
        return f"{self.name} ({listed})"

    @classmethod
    def cleaned_values(cls, values: Mapping[str, object]) -> dict[str, object]:
        """Also raise ValidationError for JSON that a call refuses."""
        cleaned = super().cleaned_values(values)
        for name in LARGE_FIELDS:
            value = cleaned.get(name)
            if value is None:
                continue
            try:
                require_storable_object(value)
            except ValidationError as error:
                raise ValidationError({name: error}) from None
        if not all(map(is_data_source, cleaned.get("mapping", {}).values())):
            text = "A data source is an integer, or a string of 1 to 255 characters."
            raise ValidationError({"mapping": text})
        return cleaned

    @property
    def scope(self) -> Scope:
        """The ``scope`` of the API tokens that give access to the group."""
        return {"team_id": self.team_id, "environment": self.environment}
