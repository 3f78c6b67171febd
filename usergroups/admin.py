"""The admin of teams, user groups and API tokens."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import models, router
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .admin_tools.autocomplete import AutocompleteFilter
from .admin_tools.confirmations import Confirmation, OneRowForm
from .admin_tools.event_list import EventAdmin
from .admin_tools.fields import (
    JSONObjectFormField,
    ModelField,
    SingleLineField,
)
from .admin_tools.history import log_action, write_log_entries
from .admin_tools.lists import ListFilters
from .admin_tools.operator_admin import OperatorAdmin
from .admin_tools.related_lists import RelatedLists
from .db.deletion_records import DeletionRecord
from .deleted_user_groups import UserGroupDeletion
from .events import Event, Kind
from .models import USER_GROUP_TOKEN_PREFIX, ApiToken, Team, UserGroup
from .serializers import UserGroupUpdateSerializer
from .tokens.admin import TokenAdmin

__all__ = ["ApiTokenAdmin", "TeamAdmin", "UserGroupAdmin"]

admin.site.register(Event, EventAdmin)

JSON_FIELDS = ("mapping", "properties")


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
    fields = ("name", "notes")
    search_fields = ("name",)
    find_fields = ("name",)
    ordering = ("name",)
    related: RelatedLists = ((UserGroup, "team"), (ApiToken, "team"))
    deletion_asks_for_name = True
    # Outer white space of every kind is removed, with which a team could look
    # like another one.
    formfield_overrides = {
        **OperatorAdmin.formfield_overrides,
        models.CharField: {"form_class": SingleLineField},
    }

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
    copied_columns = ("team", "environment", "name", "expires_at")
    autocomplete_fields = ("team",)
    usage = _("as “Token” on /api/")
    list_filter = (
        *TokenAdmin.list_filter,
        ("team", AutocompleteFilter),
        ("environment", EnvironmentFilter),
    )
    list_select_related = ("team",)
    search_fields = ("name", "hint", "team__name")
    ordering = ("-id",)

    def parents_of(self, row: ApiToken) -> list[models.Model]:
        return [row.team]


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
        "updated_at",
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
    actions = ("reveal_token", "rotate_token", "delete_selected")
    one_row_actions = ("reveal_token", "rotate_token")
    object_actions = {
        "reveal_token": _("Reveal dashboard token"),
        "rotate_token": _("Rotate dashboard token"),
    }

    readonly_fields = ("created_at", "updated_at")
    fixed_fields = ("team", "environment", "provided_id")

    def parents_of(self, row: UserGroup) -> list[models.Model]:
        return [row.team]

    def get_fieldsets(self, request: HttpRequest, obj: UserGroup | None = None) -> Any:
        fields: tuple[str, ...] = (*self.fixed_fields, "name", "notes")
        if obj is not None:
            fields = (*fields, *self.readonly_fields)
        return [(None, {"fields": fields}), ("JSON", {"fields": JSON_FIELDS})]

    def formfield_for_dbfield(
        self, db_field: ModelField, request: HttpRequest, **kwargs: object
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

    def deletions_of(self, text: str) -> QuerySet[DeletionRecord]:
        using = router.db_for_write(UserGroupDeletion)
        records = UserGroupDeletion.objects.using(using).filter(provided_id=text)
        return records.select_related("team")

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        """Match the groups with these user group tokens, for Find."""
        return Q(token__in=secrets)

    @admin.action(permissions=["change"])
    @Confirmation(
        _("Rotate the dashboard token of %(rows)s"),
        _(
            "The user group gets a new token. Dashboards that use the old token stop "
            "working."
        ),
        OneRowForm,
        irreversible=True,
    )
    def rotate_token(self, request: HttpRequest, queryset: QuerySet[UserGroup]) -> str:
        user_group = queryset.get()
        UserGroup.objects.rotate_token(user_group.provided_id, user_group.scope)
        write_log_entries(request.user, Kind.ROTATED, [user_group])
        text = gettext("The dashboard token of {} was rotated.")
        return format_html(text, self.link_to(user_group))

    def has_reveal_permission(self, request: HttpRequest) -> bool:
        if not self.has_view_permission(request):
            return False
        permission = f"{self.opts.app_label}.reveal_usergroup_token"
        return request.user.has_perm(permission)

    @admin.action(permissions=["reveal"])
    @Confirmation(
        _("Reveal the dashboard token of %(rows)s"),
        _("The history of the user group will record this."),
        OneRowForm,
    )
    def reveal_token(
        self, request: HttpRequest, queryset: QuerySet[UserGroup]
    ) -> HttpResponse:
        user_group = queryset.get()
        log_action(request.user, Kind.REVEALED, [user_group])
        text = gettext("The history records that you revealed this token.")
        # None, because the group replaces no other, as a rotated token would.
        secrets = [(user_group, user_group.token, None)]
        title = gettext("Dashboard token")
        return self.render_secrets(request, title, text, secrets)
