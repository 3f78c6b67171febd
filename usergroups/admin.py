from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from .models import ApiToken, Team, UserGroup
from .tokens.admin import TokenAdmin

if TYPE_CHECKING:
    TeamModelAdmin = admin.ModelAdmin[Team]
    UserGroupModelAdmin = admin.ModelAdmin[UserGroup]
else:
    TeamModelAdmin = UserGroupModelAdmin = admin.ModelAdmin


@admin.register(Team)
class TeamAdmin(TeamModelAdmin):
    list_display = ("name", "id")
    search_fields = ("name",)
    ordering = ("name",)


@admin.register(ApiToken)
class ApiTokenAdmin(TokenAdmin):
    owner_fields = ("team", "environment")
    autocomplete_fields = ("team",)
    list_filter = (*TokenAdmin.list_filter, "environment")
    list_select_related = ("team",)
    search_fields = ("name", "hint", "team__name")


@admin.register(UserGroup)
class UserGroupAdmin(UserGroupModelAdmin):
    """What belongs to the caller, mapping and properties, is for reading."""

    list_display = ("name", "provided_id", "team", "environment", "updated_at")
    list_filter = ("environment",)
    list_select_related = ("team",)
    search_fields = ("name", "provided_id", "team__name")
    autocomplete_fields = ("team",)
    ordering = ("-id",)
    formfield_overrides: ClassVar[Any] = {models.CharField: {"strip": False}}  # what is sent comes back
    fields = (
        "team",
        "environment",
        "provided_id",
        "name",
        "token",
        "mapping",
        "properties",
        "created_at",
        "updated_at",
    )
    always_readonly = ("token", "mapping", "properties", "created_at", "updated_at")

    def get_readonly_fields(self, request: HttpRequest, obj: UserGroup | None = None) -> tuple[str, ...]:
        return (*self.always_readonly, "team", "environment", "provided_id") if obj else self.always_readonly
