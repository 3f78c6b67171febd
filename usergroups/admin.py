"""The admin of teams, user groups and API tokens."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from .admin_reveal import RevealingAdmin
from .admin_tools.autocomplete import AutocompleteFilter
from .admin_tools.base import OperatorAdmin
from .admin_tools.confirmation import requires_confirmation
from .admin_tools.json_object import JSONObjectForm, JSONObjectFormField, indent_json
from .admin_tools.owner_columns import two_lines
from .models import USER_GROUP_TOKEN_PREFIX, ApiToken, Environment, Team, UserGroup
from .serializers import UserGroupUpdateSerializer
from .tokens.admin import TokenAdmin


class EnvironmentFilter(admin.SimpleListFilter):
    title = _("environment")
    parameter_name = "environment"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("none", pgettext_lazy("environment", "None")), *Environment.choices]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value()
        return queryset.filter(environment="" if value == "none" else value) if value else queryset


@admin.register(Team)
class TeamAdmin(OperatorAdmin):
    list_display = ("name", "id")
    search_fields = ("name",)
    find_fields = ("name", "id")
    find_display = ("id",)
    ordering = ("name",)
    empty_text = _("A team owns user groups and API tokens.")


@admin.register(ApiToken)
class ApiTokenAdmin(TokenAdmin):
    owner_fields = ("team", "environment")
    owner_columns = {"team": str}
    autocomplete_fields = ("team",)
    list_filter = (*TokenAdmin.list_filter, ("team", AutocompleteFilter), EnvironmentFilter)
    list_select_related = ("team",)
    search_fields = ("name", "hint", "team__name")
    find_display = ("team", "environment", "badge")
    ordering = ("-id",)
    empty_text = _("An API token lets a team's applications manage its user groups.")


SERIALIZER_FIELDS = UserGroupUpdateSerializer().fields


def user_group_cell(user_group: UserGroup) -> str:
    """Return what lists show of a user group: its name, and what tells groups with the same name apart."""
    identity = filter(None, (user_group.provided_id, user_group.environment))
    return two_lines(user_group.name, ", ".join(identity))


@admin.register(UserGroup)
class UserGroupAdmin(RevealingAdmin):
    form = JSONObjectForm
    auto_now_fields = ("updated_at",)
    deferred_fields = ("mapping", "properties")
    owner_columns = {"team": str}
    list_display = ("name", "provided_id", "team", "environment", "updated_at")
    list_filter = (("team", AutocompleteFilter), EnvironmentFilter)
    list_select_related = ("team",)
    search_fields = ("name", "provided_id", "team__name")
    find_fields = ("name", "provided_id")
    find_display = ("provided_id", "team", "environment")
    secret_prefix = USER_GROUP_TOKEN_PREFIX
    autocomplete_fields = ("team",)
    ordering = ("-id",)
    actions = ("rotate_token", "delete_selected")
    object_actions = {"rotate_token": _("Rotate token")}
    empty_text = _("Applications create user groups with POST /api/user.")

    fixed_fields = ("team", "environment", "provided_id")
    info_fields = ("created_at", "updated_at")
    json_fields = ("mapping_json", "properties_json")

    def get_fields(self, request: HttpRequest, obj: UserGroup | None = None) -> tuple[str, ...]:
        fields = (*self.fixed_fields, "name", "mapping", "properties")
        if obj is None:
            return fields
        if not self.has_change_permission(request, obj):
            fields = (*self.fixed_fields, "name", *self.json_fields)
        return (*fields, self.token_field(request), *self.info_fields)

    def get_readonly_fields(self, request: HttpRequest, obj: UserGroup | None = None) -> tuple[str, ...]:
        return (*self.fixed_fields, *self.json_fields, *self.token_fields, *self.info_fields) if obj else ()

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, models.JSONField):
            texts = {"label": capfirst(db_field.verbose_name), "help_text": db_field.help_text}
            return JSONObjectFormField(SERIALIZER_FIELDS[db_field.name], empty=db_field.get_default(), **texts)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        return Q(token__in=secrets)

    def identified_by(self, text: str) -> Q:
        """Also match the text of a user group, such as "Example 1 (Demo, example_1)"."""
        shown = text[:-1].rpartition("(")[2].rpartition(", ")[2] if text.endswith(")") else ""
        return super().identified_by(text) | (super().identified_by(shown) if shown else Q())

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request)

    @admin.action(description=_("Rotate the user group tokens of selected user groups"), permissions=["rotate"])
    @requires_confirmation(
        _("Rotate the token of %(rows)s"),
        _("Each user group gets a new token. Dashboards that use the old token stop working."),
    )
    def rotate_token(self, request: HttpRequest, queryset: QuerySet[UserGroup]) -> str:
        for user_group in queryset:
            UserGroup.objects.filter(pk=user_group.pk).rotate_token(user_group.provided_id)
            self.log_change(request, user_group, "Rotated the user group token.")
        return gettext("User group tokens rotated: %(number)s.") % {"number": intcomma(len(queryset))}

    @admin.display(description=_("mapping"))
    def mapping_json(self, user_group: UserGroup) -> str:
        return format_html('<pre class="wrap" dir="ltr">{}</pre>', indent_json(user_group.mapping))

    @admin.display(description=_("properties"))
    def properties_json(self, user_group: UserGroup) -> str:
        return format_html('<pre class="wrap" dir="ltr">{}</pre>', indent_json(user_group.properties))
