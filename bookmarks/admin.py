from django.contrib import admin
from django.http import HttpRequest

from usergroups.admin import ChangedFieldsAdmin
from usergroups.tokens.admin import TokenAdmin

from .files.admin import FilesAdmin
from .models import AccessToken, Bookmark, Collection


@admin.register(AccessToken)
class AccessTokenAdmin(TokenAdmin):
    owner_fields = ("user_group",)
    autocomplete_fields = ("user_group",)
    list_select_related = ("user_group",)
    search_fields = ("name", "hint", "user_group__name", "user_group__provided_id", "user_group__team__name")


@admin.register(Collection)
class CollectionAdmin(ChangedFieldsAdmin):
    list_display = ("name", "user_group", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("user_group",)
    search_fields = ("name", "user_group__name", "user_group__provided_id")
    autocomplete_fields = ("user_group",)
    ordering = ("-id",)
    fields = ("user_group", "name", "id", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Collection | None = None) -> tuple[str, ...]:
        return ("id", "created_at", "user_group") if obj else ("id", "created_at")


@admin.register(Bookmark)
class BookmarkAdmin(FilesAdmin, ChangedFieldsAdmin):
    list_display = ("url", "title", "user_group", "collection", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("user_group", "collection")
    search_fields = ("url", "title", "user_group__name", "user_group__provided_id", "collection__name")
    autocomplete_fields = ("user_group", "collection")
    ordering = ("-id",)
    fields = ("user_group", "collection", "url", "title", "id", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Bookmark | None = None) -> tuple[str, ...]:
        return ("id", "created_at", "user_group", "url") if obj else ("id", "created_at")
