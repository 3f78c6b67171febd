from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils import timezone

from .models import ApiToken, Team, UserGroup
from .tokens.admin import TokenAdmin

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class ChangedFieldsAdmin(ModelAdmin):
    """Writes only what the operator changed, so that what callers changed since the form was shown stands."""

    formfield_overrides: ClassVar[Any] = {models.CharField: {"strip": False}}  # what is sent comes back
    touched_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that are set to now with every change."""

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
        elif form.changed_data:
            for name in self.touched_fields:
                setattr(obj, name, timezone.now())
            obj.save(update_fields=[*form.changed_data, *self.touched_fields])


@admin.register(Team)
class TeamAdmin(ModelAdmin):
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
class UserGroupAdmin(ChangedFieldsAdmin):
    """What belongs to the caller, mapping and properties, is for reading."""

    touched_fields = ("updated_at",)
    list_display = ("name", "provided_id", "team", "environment", "updated_at")
    list_filter = ("environment",)
    list_select_related = ("team",)
    search_fields = ("name", "provided_id", "team__name")
    autocomplete_fields = ("team",)
    ordering = ("-id",)
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
