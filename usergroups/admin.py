"""The admin of teams, user groups and API tokens."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models, router, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .admin_tools.autocomplete import AutocompleteFilter
from .admin_tools.confirmations import ConfirmationForm, requires_confirmation
from .admin_tools.event_list import EventAdmin
from .admin_tools.fields import JSONObjectFormField, ModelField, indent_json
from .admin_tools.history import log_action, log_entries
from .admin_tools.lists import ListFilters
from .admin_tools.operator_admin import OperatorAdmin
from .admin_tools.pages import can_view
from .admin_tools.related_lists import RelatedList
from .db.deletion_records import DeletionRecord
from .db.stored_json import stored_text
from .deletion_log import UserGroupDeletion
from .events import Event, Kind
from .models import USER_GROUP_TOKEN_PREFIX, ApiToken, Environment, Team, UserGroup
from .querysets import ProvidedIdTaken
from .serializers import UserGroupUpdateSerializer
from .tokens.admin import TokenAdmin

__all__ = ["ApiTokenAdmin", "TeamAdmin", "UserGroupAdmin"]

admin.site.register(Event, EventAdmin)

JSON_FIELDS = ("mapping", "properties")

MAX_OPEN = 2_000
"""The number of characters of JSON above which the page of a user group shows
it collapsed.
"""


class EnvironmentForm(ConfirmationForm):
    """The environment to which user groups move."""

    environment = forms.ChoiceField(label=_("Environment"), required=False)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        present = {row.environment for row in self.rows}
        offered = [("", gettext("No environment")), *Environment.choices]
        field: Any = self.fields["environment"]
        # without the one that all of them are in
        field.choices = [each for each in offered if present != {each[0]}]


class EnvironmentFilter(admin.ChoicesFieldListFilter):
    """A filter by environment, which also finds rows without one."""

    def choices(self, changelist: Any) -> Any:
        yield from super().choices(changelist)
        yield {
            "selected": "" in (self.lookup_val or ()),
            "query_string": changelist.get_query_string({self.lookup_kwarg: ""}),
            "display": gettext("No environment"),
        }


@admin.register(Team)
class TeamAdmin(OperatorAdmin[Team]):
    list_display: tuple[str, ...] = ("name", "id_in_api")
    search_fields = ("name",)
    find_fields = ("name",)
    ordering = ("name",)
    empty_text = _("A team owns user groups and API tokens.")
    deletion_asks_for_name = True

    def formfield_for_dbfield(
        self, db_field: ModelField, request: HttpRequest, **kwargs: Any
    ) -> forms.Field | None:
        """Remove outer white space of every kind, with which a team could look
        like another one.
        """
        if db_field.name == "name":
            kwargs["strip"] = True
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def exact_condition(self, text: str) -> Q:
        """Also match the id, with the name that it has in the API.

        A number alone is rather a part of a name, or an id of a user group.
        """
        condition = super().exact_condition(text)
        match = re.fullmatch(r'"?team_id"?\W+([0-9]{1,18}),?', text)
        if match:
            condition |= Q(pk=int(match[1]))
        return condition

    @admin.display(description="ID", ordering="id")
    def id_in_api(self, team: Team) -> str:
        # A number would get thousands separators.
        return str(team.pk)


@admin.register(ApiToken)
class ApiTokenAdmin(TokenAdmin[ApiToken]):
    owner_form_fields = ("team", "environment")
    owner_columns = ("team_link", "environment_badge")
    autocomplete_fields = ("team",)
    list_filter = (
        *TokenAdmin.list_filter,
        ("team", AutocompleteFilter),
        ("environment", EnvironmentFilter),
    )
    list_select_related = ("team",)
    search_fields = ("name", "hint", "team__name")
    ordering = ("-id",)
    empty_text = _("An API token lets a team's applications manage its user groups.")


@admin.register(UserGroup)
class UserGroupAdmin(OperatorAdmin[UserGroup]):
    """An admin of user groups.

    Only the action "Reveal token" shows their tokens, and the history records
    it.
    """

    deferred_fields = JSON_FIELDS
    list_display: tuple[str, ...] = (
        "name",
        "provided_id",
        "team_link",
        "environment_badge",
        "updated",
    )
    list_filter: ClassVar[ListFilters] = (
        ("team", AutocompleteFilter),
        ("environment", EnvironmentFilter),
    )
    list_select_related = ("team",)
    search_fields = ("name", "provided_id", "team__name")
    find_fields = ("name", "provided_id")
    secret_prefix = USER_GROUP_TOKEN_PREFIX
    autocomplete_fields = ("team",)
    ordering = ("-id",)
    actions = (
        "reveal_token",
        "rotate_token",
        "move_to_environment",
        "delete_selected",
    )
    object_actions = {
        "reveal_token": _("Reveal token"),
        "rotate_token": _("Rotate token"),
        "move_to_environment": _("Move to another environment"),
    }
    empty_text = _("Applications create user groups with POST /api/user.")

    readonly_fields = ("created_at", "updated_at")
    fixed_fields = ("team", "environment", "provided_id")

    def get_fieldsets(self, request: HttpRequest, obj: UserGroup | None = None) -> Any:
        if obj is None:
            new_fields = (*self.fixed_fields, "name", "notes", *JSON_FIELDS)
            return [(None, {"fields": new_fields})]
        own_fields = ("name", "notes", *self.fixed_fields, *self.readonly_fields)
        json_fields = JSON_FIELDS
        if not self.has_change_permission(request, obj):
            json_fields = ("shown_mapping", "shown_properties")
        json_classes = []
        if has_long_json(obj):
            json_classes.append("collapse")
        return [
            (None, {"fields": own_fields}),
            ("JSON", {"fields": json_fields, "classes": json_classes}),
        ]

    @admin.display(description=_("mapping"))
    def shown_mapping(self, user_group: UserGroup) -> str:
        return indent_json(user_group.mapping)

    @admin.display(description=_("properties"))
    def shown_properties(self, user_group: UserGroup) -> str:
        return indent_json(user_group.properties)

    def formfield_for_dbfield(
        self, db_field: ModelField, request: HttpRequest, **kwargs: Any
    ) -> forms.Field | None:
        """Validate JSON as the API does."""
        if not isinstance(db_field, models.JSONField):
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        serializer = UserGroupUpdateSerializer()
        return JSONObjectFormField(
            serializer.fields[db_field.name],
            empty=db_field.get_default(),
            label=capfirst(db_field.verbose_name),
            help_text=db_field.help_text,
        )

    def get_related(self, request: HttpRequest, obj: UserGroup) -> list[RelatedList]:
        """Also summarize the list of API tokens of the group's team and
        environment.
        """
        related = super().get_related(request, obj)
        if not can_view(self.admin_site, request, ApiToken):
            return related
        tokens: Any = self.admin_site.get_model_admin(ApiToken)
        query = {
            "team__id__exact": obj.team_id,
            "environment__exact": obj.environment,
        }
        summary: RelatedList = tokens.related_list(request, query)
        summary["name"] = gettext("API tokens of its team and environment")
        return [*related, summary]

    def deletions_of(self, text: str) -> QuerySet[DeletionRecord]:
        using = router.db_for_write(UserGroupDeletion)
        records = UserGroupDeletion.objects.using(using).filter(provided_id=text)
        return records.select_related("team")

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        """Match the groups with these user group tokens, for Find."""
        return Q(token__in=secrets)

    @admin.action(
        description=_("Rotate the user group tokens of selected user groups"),
        permissions=["change"],
    )
    @requires_confirmation(
        _("Rotate the token of %(rows)s"),
        _(
            "Each user group gets a new token. Dashboards that use the old token stop "
            "working."
        ),
        irreversible=True,
    )
    def rotate_token(self, request: HttpRequest, queryset: QuerySet[UserGroup]) -> str:
        user_groups = list(queryset)
        for each in user_groups:
            UserGroup.objects.rotate_token(each.provided_id, each.scope)
        log_entries(request.user, Kind.ROTATED, user_groups)
        number = intcomma(len(user_groups))
        return gettext("User group tokens rotated: %(number)s.") % {"number": number}

    @admin.action(
        description=_("Move selected user groups to another environment"),
        permissions=["change"],
    )
    @requires_confirmation(
        _("Move %(rows)s to another environment"),
        _(
            "Applications then need an API token of the new environment. For those "
            "with a token of the old one, the user groups are deleted, and POST "
            "/api/user would create them again, without bookmarks. Access tokens keep "
            "working, and bookmarks are kept."
        ),
        EnvironmentForm,
    )
    def move_to_environment(
        self, request: HttpRequest, queryset: QuerySet[UserGroup], environment: str
    ) -> str:
        """Move user groups to an environment of their teams. If an id is taken
        there, move none of them.
        """
        user_groups = [each for each in queryset if each.environment != environment]
        name = environment or gettext("No environment")
        for each in user_groups:
            try:
                UserGroup.objects.move_to_environment(
                    each.provided_id, each.scope, environment
                )
            except ProvidedIdTaken:
                transaction.set_rollback(True, queryset.db)
                text = gettext(
                    "Nothing was changed: “%(environment)s” has a user group with the "
                    "provided id “%(id)s” already."
                )
                return text % {"environment": name, "id": each.provided_id}
        former = sorted({each.environment or "-" for each in user_groups})
        changes = {"environment": [", ".join(former), environment]}
        log_action(request.user, Kind.CHANGED, user_groups, changes=changes)
        text = gettext("Moved to “%(environment)s”: %(number)s.")
        number = intcomma(len(user_groups))
        return text % {"environment": name, "number": number}

    def has_reveal_permission(self, request: HttpRequest) -> bool:
        if not self.has_view_permission(request):
            return False
        permission = f"{self.opts.app_label}.reveal_usergroup_token"
        return request.user.has_perm(permission)

    @admin.action(
        description=_("Reveal the user group tokens of selected user groups"),
        permissions=["reveal"],
    )
    @requires_confirmation(
        _("Reveal the token of %(rows)s"),
        _("The history of each user group will record this."),
    )
    def reveal_token(
        self, request: HttpRequest, queryset: QuerySet[UserGroup]
    ) -> HttpResponse:
        user_groups = list(queryset)
        log_action(request.user, Kind.REVEALED, user_groups)
        text = gettext(
            "The history of each user group records that you revealed its token."
        )
        # None, because the group replaces no other, as a rotated token would.
        secrets = [(each, each.token, None) for each in user_groups]
        title = gettext("User group tokens")
        return self.render_secrets(request, title, text, secrets)


def has_long_json(user_group: UserGroup) -> bool:
    """Return whether the page shows the JSON of a user group collapsed."""
    for name in JSON_FIELDS:
        # None for null
        text = stored_text(user_group, name) or ""
        if len(text) > MAX_OPEN:
            return True
    return False
