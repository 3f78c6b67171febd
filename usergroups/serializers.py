"""What the user group operations take and give."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from .contract.fields import Envelope, ObjectField, TextField
from .models import Environment, UserGroup


@extend_schema_field({"oneOf": [{"type": "string", "minLength": 1, "maxLength": 255}, {"type": "integer"}]})
class DataSourceField(TextField):
    """A string of 1 to 255 characters or an integer."""

    default_error_messages = {"invalid": "Not a string or an integer."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=255, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, int) and not isinstance(data, bool):
            return data
        return super().run_validation(data)


class UserGroupUpdateSerializer(serializers.Serializer[Any]):
    """Fields that are left out stay as they are."""

    user_group_id = TextField(
        source="provided_id", max_length=255, help_text="Your own identifier of the user group; tells which to update."
    )
    name = TextField(required=False, max_length=255, help_text="Name of the user group.")
    mapping = ObjectField(
        required=False,
        allow_null=True,
        child=DataSourceField(),
        help_text=(
            "Schema id to the data source of the user group, or to the id that you gave the data source. "
            "Replaces the whole mapping; null empties it."
        ),
    )
    properties = ObjectField(
        required=False,
        allow_null=True,
        help_text=(
            "Any JSON inside; variables in dashboards and the SQL editor. Replaces all properties; null removes them."
        ),
    )

    def validate_mapping(self, mapping: dict[str, str | int] | None) -> dict[str, str | int]:
        return mapping or {}


class EnvironmentField(serializers.ChoiceField):
    """The name of an environment, or null for none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=Environment.choices, allow_null=True, **kwargs)

    def to_representation(self, value: str) -> Any:
        return value or None


class UserGroupSerializer(serializers.Serializer[UserGroup]):
    """A user group."""

    team_id = serializers.IntegerField(help_text="Id of the team that the user group belongs to.")
    token = serializers.CharField(
        help_text="The user group token. Keep it and use it when you render an embedded dashboard."
    )
    name = serializers.CharField()
    provided_id = serializers.CharField(help_text="Your own identifier: the user_group_id that you sent.")
    properties = ObjectField(allow_null=True)
    api_environment_tag = EnvironmentField(
        source="environment", help_text="The environment of the user group, or null for none."
    )


class UserGroupEnvelope(Envelope):
    user_group = UserGroupSerializer()
