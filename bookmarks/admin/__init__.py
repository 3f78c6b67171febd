"""The admin of access tokens, collections and bookmarks."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.admin_tools.autocomplete import AutocompleteFilter, is_valid_value
from usergroups.admin_tools.base import OperatorAdmin
from usergroups.admin_tools.deletion import DeletionSummary
from usergroups.models import UserGroup
from usergroups.tokens.admin import TokenAdmin

from .filters import AddedFilter
from .import_export import ImportExportAdmin

USER_GROUP_PARAM = "of_user_group"
"""The query parameter that limits the autocompletion of collections to a user group."""

USER_GROUP_JSON_FIELDS = ("user_group__mapping", "user_group__properties")

GROUP_FILTERS = (("user_group", AutocompleteFilter), ("user_group__team", AutocompleteFilter))

OWNERS = ("user_group", "user_group__team")


@admin.register(AccessToken)
class AccessTokenAdmin(TokenAdmin):
    owner_lookups = OWNERS
    owner_fields = ("user_group",)
    autocomplete_fields = ("user_group",)
    list_filter = (*TokenAdmin.list_filter, *GROUP_FILTERS)
    list_select_related = ("user_group__team",)
    search_fields = ("name", "hint", "user_group__name", "user_group__provided_id", "user_group__team__name")
    deferred_fields = USER_GROUP_JSON_FIELDS
    ordering = ("-id",)
    empty_text = _("An access token lets an application manage the bookmarks of a user group. Add the first token.")


@admin.register(Collection)
class CollectionAdmin(OperatorAdmin):
    owner_lookups = OWNERS
    list_display = ("name", "user_group", "created_at")
    list_filter = (*GROUP_FILTERS, ("created_at", AddedFilter))
    list_select_related = ("user_group__team",)
    search_fields = ("name", "user_group__name", "user_group__provided_id")
    autocomplete_fields = ("user_group",)
    deferred_fields = USER_GROUP_JSON_FIELDS
    ordering = ("-id",)
    auto_now_fields = ("updated_at",)
    fields = ("user_group", "name", "id", "created_at", "updated_at")
    empty_text = _("Applications create collections with POST /v1/collections. You can also add one here.")

    def get_readonly_fields(self, request: HttpRequest, obj: Collection | None = None) -> tuple[str, ...]:
        dates = ("id", "created_at", "updated_at")
        return (*dates, "user_group") if obj else dates

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> DeletionSummary:  # type: ignore[override]
        descriptions, counts, perms_needed, protected = super().get_deleted_objects(objs, request)
        note = gettext(
            "The bookmarks are kept, without a collection. If bookmarks become duplicates, only the oldest is kept."
        )
        return [*descriptions, note], counts, perms_needed, protected

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        user_group = request.GET.get(USER_GROUP_PARAM)
        if user_group and is_valid_value(UserGroup._meta.pk, user_group):
            queryset = queryset.filter(user_group=user_group)
        return super().get_search_results(request, queryset, search_term)


@admin.register(Bookmark)
class BookmarkAdmin(ImportExportAdmin):
    owner_lookups = OWNERS
    list_display = ("short_url", "open_link", "title", "user_group", "in_collection", "created_at")
    list_filter = (*GROUP_FILTERS, ("collection", AutocompleteFilter), ("created_at", AddedFilter))
    list_select_related = ("user_group__team", "collection")
    search_fields = ("url__contains_text", "title__contains_text")  # as in the API, with the same index
    sortable_by = ()  # Only the default ordering has an index on every database.
    autocomplete_fields = ("user_group", "collection")
    deferred_fields = USER_GROUP_JSON_FIELDS
    ordering = ("-id",)  # the order in which they were added
    auto_now_fields = ("updated_at",)
    empty_text = _("Applications create bookmarks with POST /v1/bookmarks. You can also add or import bookmarks here.")

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # The order of the index of the group or the collection. PostgreSQL could otherwise read all groups' bookmarks.
        filtered = any(f"{name}__id__exact" in request.GET for name in ("user_group", "collection"))
        return ("-user_group_id", "-created_at", "-id") if filtered else self.ordering

    def get_fields(self, request: HttpRequest, obj: Bookmark | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("user_group", "collection", "url", "title")
        return ("collection", "title", "user_group", "url_link", "id", "created_at", "updated_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Bookmark | None = None) -> tuple[str, ...]:
        return self.get_fields(request, obj)[2:] if obj else ()

    def get_form(self, request: HttpRequest, obj: Bookmark | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if obj is not None and (field := form.base_fields.get("collection")):
            field.queryset = obj.user_group.collections.for_write()
            field.error_messages["invalid_choice"] = _("The user group has no such collection.")
            field.widget.widget.query_params = {USER_GROUP_PARAM: obj.user_group_id}
        return form

    @admin.display(description="URL")
    def short_url(self, bookmark: Bookmark) -> str:
        return Truncator(bookmark.url).chars(80)

    @admin.display(description="")
    def open_link(self, bookmark: Bookmark) -> str:
        return external_link(bookmark.url, gettext("Open"))

    @admin.display(description="URL")
    def url_link(self, bookmark: Bookmark) -> str:
        return external_link(bookmark.url, bookmark.url)

    @admin.display(description=_("collection"))
    def in_collection(self, bookmark: Bookmark) -> str | None:
        return bookmark.visible_collection.name if bookmark.visible_collection else None


def external_link(url: str, text: str) -> str:
    """Return a link that sends no referrer, or only the text if the scheme is not http or https."""
    if not url.lower().startswith(("http://", "https://")):
        return text
    return format_html('<a href="{}" target="_blank" rel="noopener noreferrer">{}</a>', url, text)
