"""The serializers of the user group operations."""

from collections.abc import Mapping
from typing import Any, cast

from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from .api.batches import (
    BatchField,
    StoredResultSerializer,
    WriteResultSerializer,
    results_of,
)
from .api.errors import MAX_PROBLEMS
from .api.fields import (
    ETAG_EXAMPLE,
    ETagOfRow,
    IfMatchField,
    IntegerOfRow,
    ObjectField,
    StoredObjectField,
    TextField,
    TextOfRow,
    TimestampField,
)
from .api.pagination import DELETED, PageEnvelope, PageQuery
from .api.serializers import (
    Envelope,
    Examples,
    SerializerClass,
    Validated,
    open_enumeration,
)
from .deleted_user_groups import UserGroupDeletion, oldest_recorded_time
from .models import (
    MAX_DATA_SOURCE_LENGTH,
    MAX_ID_LENGTH,
    MAX_NAME_LENGTH,
    MAX_USER_GROUP_TOKEN_LENGTH,
    Environment,
    UserGroup,
    is_data_source,
)
from .querysets import name_begins_with
from .tokens.serializers import TokenEnvelope
from .user_group_errors import TooOld


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1, "maxLength": MAX_DATA_SOURCE_LENGTH},
            {"type": "integer", "format": "int64"},
        ]
    }
)
class DataSourceField(TextField):
    """A string of 1 to 255 characters.

    MappingField also accepts integers, without validating them by this field.
    """

    default_error_messages = {"invalid": _("Not a string or an integer.")}

    def __init__(self, **kwargs: object) -> None:
        super().__init__(max_length=MAX_DATA_SOURCE_LENGTH, **kwargs)


class MappingField(ObjectField):
    """A mapping of schema ids to data sources.

    Validation stops after more errors than a response may have.
    """

    child = DataSourceField()

    def to_internal_value(self, data: object) -> dict[str, object]:
        mapping = super().to_internal_value(data)
        problems = {}
        for key, value in mapping.items():
            # Call DRF's validation only for values that it refuses. A mapping
            # of 1 MiB may have 130,000 values, and to validate all would take
            # ten times as long.
            if is_data_source(value):
                continue
            try:
                self.child.run_validation(value)
            except serializers.ValidationError as error:
                problems[key] = error.detail
                if len(problems) > MAX_PROBLEMS:
                    break
        if problems:
            raise serializers.ValidationError(problems)
        return mapping


ID = {
    "source": "provided_id",
    "max_length": MAX_ID_LENGTH,
    "help_text": "Your own identifier of the user group.",
}
SEND_IN_QUERY = {
    "required": (
        "This parameter is required. Send it in the query string, not in the body."
    )
}


class ProvidedIdSerializer(serializers.Serializer[None]):
    """The name of the id in answers, which bodies may have as well."""

    provided_id = serializers.CharField()


class UserGroupIdSerializer(serializers.Serializer[None]):
    """The id of a user group in a body."""

    examples: Examples = {"user_group_id": "example_1"}
    answer: SerializerClass = ProvidedIdSerializer

    user_group_id = TextField(**ID)

    def to_internal_value(self, data: Validated) -> Validated:
        """Take ``provided_id``, the name in answers, for ``user_group_id``."""
        if "provided_id" in data:
            same = {"user_group_id": data["provided_id"], **data}
            if same["user_group_id"] != data["provided_id"]:
                detail = "This is not the `user_group_id`."
                raise serializers.ValidationError({"provided_id": [detail]})
            data = same
        return cast(Validated, super().to_internal_value(data))


class UserGroupIdQuery(serializers.Serializer[None]):
    """The id of a user group in the query string."""

    examples: Examples = UserGroupIdSerializer.examples

    user_group_id = TextField(**ID, error_messages=SEND_IN_QUERY)


class UserGroupTokenSerializer(serializers.Serializer[None]):
    examples = {"token": "ugt_9vUXkqoz4PJYbnLx6D0ScHweRaT1mGi27yhQKd"}

    token = TextField(
        max_length=MAX_USER_GROUP_TOKEN_LENGTH, help_text="The user group token."
    )


@extend_schema_field(
    open_enumeration("The name of an environment.", Environment.values),
    "UsergroupsEnvironment",
)
class EnvironmentField(serializers.CharField):
    """The name of an environment, or null for none."""

    def to_representation(self, value: str) -> str | None:  # type: ignore[override]
        return value or None


class UserGroupSerializer(serializers.Serializer[UserGroup]):
    """A user group."""

    examples = {
        "team_id": 3,
        "token": UserGroupTokenSerializer.examples["token"],
        "name": "Example 1",
        "provided_id": "example_1",
        "properties": {"plan": "pro", "region": "EU"},
        "api_environment_tag": "Customer",
    }

    team_id = IntegerOfRow(
        help_text="The id of the team that the user group belongs to."
    )
    token = TextOfRow(
        help_text=(
            "The user group token. Store it and use it to render embedded dashboards."
        )
    )
    name = TextOfRow()
    provided_id = TextOfRow(help_text="Your own identifier, sent as `user_group_id`.")
    properties = StoredObjectField(allow_null=True)
    api_environment_tag = EnvironmentField(
        source="environment",
        allow_null=True,
        help_text="The environment of the user group, or null for none.",
    )


class UserGroupDetailSerializer(UserGroupSerializer):
    """A user group with its mapping and dates."""

    examples = {"mapping": {"40": "warehouse_eu", "41": 113}}

    mapping = StoredObjectField(help_text="Maps each schema id to a data source.")
    created_at = TimestampField()
    updated_at = TimestampField(help_text="When the user group was last changed.")


class ListedUserGroupSerializer(UserGroupDetailSerializer):
    """A user group in a list."""

    examples = {"etag": ETAG_EXAMPLE}

    etag = ETagOfRow()


class UserGroupUpdateSerializer(UserGroupIdSerializer):
    """The fields of a user group. An update does not change omitted fields."""

    answer = ListedUserGroupSerializer

    name = TextField(
        required=False,
        max_length=MAX_NAME_LENGTH,
        help_text="The name of the user group.",
    )
    mapping = MappingField(
        required=False,
        allow_null=True,
        help_text=(
            "Maps each schema id to the user group's data source, or to the id that "
            "you gave the data source. Replaces the whole mapping; null empties it."
        ),
    )
    properties = ObjectField(
        required=False,
        allow_null=True,
        help_text=(
            "Variables for dashboards and the SQL editor, of any JSON type. Replaces "
            "all properties; null removes them."
        ),
    )

    def validate_mapping(
        self, mapping: dict[str, str | int] | None
    ) -> dict[str, str | int]:
        """Replace null by an empty mapping."""
        return mapping or {}


class UserGroupEnvelope(Envelope):
    user_group = UserGroupSerializer()


class UserGroupDetailEnvelope(Envelope):
    user_group = UserGroupDetailSerializer()


class NewUserGroupEnvelope(UserGroupEnvelope):
    new_user_group = serializers.BooleanField(
        help_text="Whether the call created the user group."
    )


class ApiTokenEnvelope(TokenEnvelope):
    examples = {"team_id": 3, "api_environment_tag": "Customer"}

    team_id = serializers.IntegerField(help_text="The id of the token's team.")
    api_environment_tag = EnvironmentField(
        allow_null=True, help_text="The environment of the token, or null for none."
    )


class UserGroupListQuery(PageQuery):
    """The query parameters of the list of user groups."""

    examples = {"name": "Example"}

    updated_since = TimestampField(
        required=False,
        help_text=(
            "Only user groups updated at this time or later, ordered by `updated_at`."
        ),
    )
    name = TextField(
        required=False,
        max_length=MAX_NAME_LENGTH,
        help_text=(
            "Only user groups whose name begins with this text, in the same letter "
            "case. A page may have fewer user groups than `limit`, even none, "
            "although more follow: request `next` until it is null."
        ),
    )

    def condition(self, name: str, value: Any) -> Q:
        if name == "name":
            return Q(name_begins_with(value))
        return super().condition(name, value)


class UserGroupListEnvelope(PageEnvelope):
    user_groups = ListedUserGroupSerializer(many=True)


class DeletionListQuery(PageQuery):
    """The query parameters of a list of deletions."""

    since = TimestampField(
        help_text=(
            "Only deletions at this time or later. To poll, subtract a minute from the "
            "latest `deleted_at` that you have seen."
        ),
    )

    def time_field(self, query: Mapping[str, object]) -> str:
        return DELETED

    def validate(self, query: Validated) -> Validated:
        """Raise TooOld if not all deletions since then are recorded."""
        if query["since"] < oldest_recorded_time():
            raise TooOld
        return query


class UserGroupDeletionSerializer(serializers.Serializer[UserGroupDeletion]):
    """The deletion of a user group."""

    examples = UserGroupIdSerializer.examples

    user_group_id = serializers.CharField(
        source="provided_id", help_text="Your own identifier of the user group."
    )
    deleted_at = TimestampField()


class UserGroupDeletionListEnvelope(PageEnvelope):
    deletions = UserGroupDeletionSerializer(many=True)


class UserGroupItemSerializer(UserGroupUpdateSerializer):
    """The fields of a user group in a batch."""

    examples = {"if_match": ETAG_EXAMPLE}

    if_match = IfMatchField()


class UserGroupBatchSerializer(serializers.Serializer[None]):
    user_groups = BatchField(child=UserGroupItemSerializer())


class UserGroupResultSerializer(StoredResultSerializer):
    user_group = UserGroupSerializer(required=False)
    new_user_group = serializers.BooleanField(
        required=False, help_text="Whether the item created the user group."
    )


class UserGroupBatchEnvelope(Envelope):
    results = results_of(UserGroupResultSerializer)


class UserGroupIdsSerializer(serializers.Serializer[None]):
    """The ids of user groups."""

    examples: Examples = {"user_group_ids": ["example_1", "example_2"]}

    user_group_ids = BatchField(
        child=TextField(max_length=MAX_ID_LENGTH),
        help_text="Your own identifiers of up to 1,000 user groups.",
    )


class UserGroupDeletionEnvelope(Envelope):
    results = results_of(WriteResultSerializer)
