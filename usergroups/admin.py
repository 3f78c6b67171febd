"""The admin of teams, user groups and API tokens."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from .admin_tools.autocomplete import AutocompleteFilter
from .admin_tools.base import OperatorAdmin
from .admin_tools.columns import two_lines
from .admin_tools.confirmation import requires_confirmation
from .admin_tools.forms import JSONObjectForm, JSONObjectFormField, indent_json
from .admin_tools.history import log_rows
from .admin_tools.permissions import can_view
from .admin_tools.related import related_list
from .fields import stored_text
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
    ordering = ("-id",)
    empty_text = _("An API token lets a team's applications manage its user groups.")


SERIALIZER_FIELDS = UserGroupUpdateSerializer().fields

JSON_FIELDS = ("mapping", "properties")
READ_ONLY_JSON = ("mapping_json", "properties_json")

MAX_OPEN = 2_000
"""The number of characters of JSON above which the page of a user group shows it collapsed."""

MASKED = "ugt_••••"


def user_group_cell(user_group: UserGroup) -> str:
    """Return what lists show of a user group: its name, and what tells groups with the same name apart."""
    identity = filter(None, (user_group.provided_id, user_group.environment))
    return two_lines(user_group.name, ", ".join(identity))


@admin.register(UserGroup)
class UserGroupAdmin(OperatorAdmin):
    """An admin of user groups that masks their tokens. Only the response to a POST, which is logged, shows a token."""

    form = JSONObjectForm
    deferred_fields = JSON_FIELDS
    owner_columns = {"team": str}
    list_display = ("name", "provided_id", "team", "environment", "updated_at")
    list_filter = (("team", AutocompleteFilter), EnvironmentFilter)
    list_select_related = ("team",)
    search_fields = ("name", "provided_id", "team__name")
    find_fields = ("name", "provided_id")
    secret_prefix = USER_GROUP_TOKEN_PREFIX
    autocomplete_fields = ("team",)
    ordering = ("-id",)
    actions = ("rotate_token", "delete_selected")
    object_actions = {"rotate_token": _("Rotate token")}
    empty_text = _("Applications create user groups with POST /api/user.")

    fixed_fields = ("team", "environment", "provided_id")

    def get_urls(self) -> list[URLPattern]:
        return [self.page_path("<path:key>/reveal/", self.reveal_view, "reveal"), *super().get_urls()]

    def get_fieldsets(self, request: HttpRequest, obj: UserGroup | None = None) -> Any:
        if obj is None:
            return [(None, {"fields": (*self.fixed_fields, "name", *JSON_FIELDS)})]
        can_change = self.has_change_permission(request, obj)
        token = "revealable_token" if self.has_reveal_permission(request) else "masked_token"
        is_long = any(len(stored_text(obj, name) or "") > MAX_OPEN for name in JSON_FIELDS)
        json_fields = {"fields": JSON_FIELDS if can_change else READ_ONLY_JSON}
        fields = ("name", *self.fixed_fields, token, "created_at", "updated_at", *(["version"] if can_change else []))
        return [
            (None, {"fields": fields}),
            ("JSON", {**json_fields, "classes": ["collapse"] if is_long else []}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: UserGroup | None = None) -> tuple[str, ...]:
        fields = (*self.fixed_fields, *READ_ONLY_JSON, "masked_token", "revealable_token", "created_at", "updated_at")
        return fields if obj else ()

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, models.JSONField):
            texts = {"label": capfirst(db_field.verbose_name), "help_text": db_field.help_text}
            return JSONObjectFormField(SERIALIZER_FIELDS[db_field.name], empty=db_field.get_default(), **texts)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_related(self, request: HttpRequest, obj: UserGroup) -> list[dict[str, Any]]:
        """Also return the API tokens that reach the user group."""
        related = super().get_related(request, obj)
        if can_view(self.admin_site, request, ApiToken):
            conditions = {"team": obj.team_id, "environment": obj.environment}
            query = {"team__id__exact": str(obj.team_id), "environment": obj.environment or "none"}
            tokens = related_list(self.admin_site.get_model_admin(ApiToken), request, conditions, query)
            related.append({**tokens, "name": gettext("API tokens that reach it"), "links": []})
        return related

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        return Q(token__in=secrets)

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
        log_rows(request.user, CHANGE, [(user_group, "Rotated the user group token.") for user_group in queryset])
        return gettext("User group tokens rotated: %(number)s.") % {"number": intcomma(len(queryset))}

    def has_reveal_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request) and request.user.has_perm(
            f"{self.opts.app_label}.reveal_usergroup_token"
        )

    @admin.display(description=_("user group token"))
    def masked_token(self, user_group: UserGroup) -> str:
        return MASKED

    @admin.display(description=_("user group token"))
    def revealable_token(self, user_group: UserGroup) -> str:
        return format_html(
            '{} <button type="submit" class="button" form="reveal" formaction="{}">{}</button>',
            MASKED,
            self.url_of("reveal", user_group.pk),
            gettext("Reveal"),
        )

    def reveal_view(self, request: HttpRequest, key: str) -> HttpResponse:
        if not self.has_reveal_permission(request):
            raise PermissionDenied
        if request.method != "POST":  # for example after a login that was necessary in between
            return redirect(self.url_of("change", key))
        user_group = self.get_object(request, key)
        if user_group is None:
            raise Http404
        self.log_change(request, user_group, "Revealed the user group token.")
        title = gettext("User group token")
        return self.render_page(request, "usergroups/admin/user_group_token.html", title, user_group=user_group)

    @admin.display(description=_("mapping"))
    def mapping_json(self, user_group: UserGroup) -> str:
        return format_html('<pre class="wrap" dir="ltr">{}</pre>', indent_json(user_group.mapping))

    @admin.display(description=_("properties"))
    def properties_json(self, user_group: UserGroup) -> str:
        return format_html('<pre class="wrap" dir="ltr">{}</pre>', indent_json(user_group.properties))
