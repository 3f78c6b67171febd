"""What the user group operations take and give."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from .contract.batch import BatchField, results_field
from .contract.fields import Envelope, ObjectField, TextField, TimestampField
from .contract.pagination import CursorField, PageEnvelope, PageQuery
from .models import Environment, UserGroup


@extend_schema_field({"oneOf": [{"type": "string", "minLength": 1, "maxLength": 255}, {"type": "integer"}]})
class DataSourceField(TextField):
    """A string of 1 to 255 characters or an integer."""

    default_error_messages = {"invalid": "Not a string or an integer."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=255, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        # A mapping of 1 MiB has 130,000 of them: DRF's way for each costs ten times as much.
        if (type(data) is str and 0 < len(data) <= 255) or type(data) is int:
            return data
        return super().run_validation(data)


class UserGroupIdSerializer(serializers.Serializer[Any]):
    """Which user group is meant."""

    user_group_id = TextField(
        source="provided_id", max_length=255, help_text="Your own identifier of the user group; tells which one."
    )


class UserGroupUpdateSerializer(UserGroupIdSerializer):
    """A user group's fields. An update leaves those as they are that are left out."""

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


class NewUserGroupEnvelope(UserGroupEnvelope):
    new_user_group = serializers.BooleanField(help_text="Whether the call created the user group.")


class UserGroupListQuery(PageQuery):
    cursor = CursorField(str)
    updated_since = TimestampField(required=False, help_text="Only those updated at this time or later.")
    name = TextField(required=False, max_length=255, help_text="Only those whose name begins with this.")


class UserGroupListEnvelope(PageEnvelope):
    user_groups = UserGroupSerializer(many=True)


class UserGroupBatchSerializer(serializers.Serializer[Any]):
    user_groups = BatchField(child=UserGroupUpdateSerializer())


class UserGroupResultSerializer(NewUserGroupEnvelope):
    status = serializers.IntegerField(help_text="201 if the item created its user group, else 200.")


class UserGroupBatchEnvelope(Envelope):
    results = results_field("UserGroupBatchResult", UserGroupResultSerializer)
