"""The admin of access tokens."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from bookmarks.models import AccessToken
from usergroups.tokens.admin import TokenAdmin

from .owned import OWNER_COLUMNS, OwnedAdmin


@admin.register(AccessToken)
class AccessTokenAdmin(TokenAdmin[AccessToken], OwnedAdmin[AccessToken]):
    owner_form_fields = ("user_group",)
    owner_columns = OWNER_COLUMNS
    copied_columns = (
        "user_group__team",
        "user_group__environment",
        "user_group__name",
        "name",
        "expires_at",
    )
    usage = _("as “Bearer” on /v1/")
    list_filter = (*TokenAdmin.list_filter, *OwnedAdmin.list_filter)
    search_fields = (
        "name",
        "hint",
        "user_group__name",
        "user_group__provided_id",
        "user_group__team__name",
    )
