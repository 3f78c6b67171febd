from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import Truncator

from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.admin_tools.autocomplete import AutocompleteFilter, is_key
from usergroups.admin_tools.base import OperatorAdmin
from usergroups.admin_tools.deletion import Deleted
from usergroups.models import UserGroup
from usergroups.tokens.admin import TokenAdmin

from .files import FilesAdmin

OF_USER_GROUP = "of_user_group"
"""Narrows an autocompletion of collections."""

GROUP_JSON = ("user_group__mapping", "user_group__properties")

GROUP_FILTERS = (("user_group", AutocompleteFilter), ("user_group__team", AutocompleteFilter))


@admin.register(AccessToken)
class AccessTokenAdmin(TokenAdmin):
    owner_fields = ("user_group",)
    autocomplete_fields = ("user_group",)
    list_filter = (*TokenAdmin.list_filter, *GROUP_FILTERS)
    list_select_related = ("user_group__team",)
    search_fields = ("name", "hint", "user_group__name", "user_group__provided_id", "user_group__team__name")
    unlisted_fields = GROUP_JSON
    ordering = ("-id",)
    empty_text = "An access token lets a program keep one user group's bookmarks. Add one and give it to its caller."


@admin.register(Collection)
class CollectionAdmin(OperatorAdmin):
    list_display = ("name", "user_group", "created_at")
    list_filter = (*GROUP_FILTERS, "created_at")
    list_select_related = ("user_group__team",)
    search_fields = ("name", "user_group__name", "user_group__provided_id")
    autocomplete_fields = ("user_group",)
    unlisted_fields = GROUP_JSON
    ordering = ("-id",)
    fields = ("user_group", "name", "id", "created_at")
    empty_text = "Callers make collections with POST /v1/collections; an operator can add one here."

    def get_readonly_fields(self, request: HttpRequest, obj: Collection | None = None) -> tuple[str, ...]:
        return ("id", "created_at", "user_group") if obj else ("id", "created_at")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deleted:  # type: ignore[override]
        shown, counts, lacking, protected = super().get_deleted_objects(objs, request)
        kept = "Their bookmarks are kept, in no collection; of those that become the same, the oldest."
        return [*shown, kept], counts, lacking, protected

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        user_group = request.GET.get(OF_USER_GROUP)
        if user_group and is_key(UserGroup._meta.pk, user_group):
            queryset = queryset.filter(user_group=user_group)
        return super().get_search_results(request, queryset.select_related("user_group__team"), search_term)


@admin.register(Bookmark)
class BookmarkAdmin(FilesAdmin, OperatorAdmin):
    list_display = ("short_url", "open_link", "title", "user_group", "in_collection", "created_at")
    list_filter = (*GROUP_FILTERS, ("collection", AutocompleteFilter), "created_at")
    list_select_related = ("user_group__team", "collection")
    search_fields = ("url", "title")
    sortable_by = ()  # newest first is what an index serves on every database
    autocomplete_fields = ("user_group", "collection")
    unlisted_fields = GROUP_JSON
    ordering = ("-created_at", "-id")
    empty_text = "Callers make bookmarks with POST /v1/bookmarks; an operator can add or import some here."

    def get_fields(self, request: HttpRequest, obj: Bookmark | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("user_group", "collection", "url", "title")
        return ("collection", "title", "user_group", "url_link", "id", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Bookmark | None = None) -> tuple[str, ...]:
        return self.get_fields(request, obj)[2:] if obj else ()

    def get_form(self, request: HttpRequest, obj: Bookmark | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if obj is not None and (field := form.base_fields.get("collection")):
            field.queryset = obj.user_group.collections.all()
            field.error_messages["invalid_choice"] = "The user group has no such collection."
            field.widget.widget.narrowed = {OF_USER_GROUP: obj.user_group_id}
        return form

    @admin.display(description="URL")
    def short_url(self, bookmark: Bookmark) -> str:
        return Truncator(bookmark.url).chars(80)

    @admin.display(description="")
    def open_link(self, bookmark: Bookmark) -> str:
        return external_link(bookmark.url, "Open")

    @admin.display(description="URL")
    def url_link(self, bookmark: Bookmark) -> str:
        return external_link(bookmark.url, bookmark.url)

    @admin.display(description="collection")
    def in_collection(self, bookmark: Bookmark) -> str | None:
        return bookmark.visible_collection.name if bookmark.visible_collection else None


def external_link(url: str, text: str) -> str:
    """Return a link that tells the other side nothing; only text if a browser would do something else than go there."""
    if not url.lower().startswith(("http://", "https://")):
        return text
    return format_html('<a href="{}" target="_blank" rel="noopener noreferrer">{}</a>', url, text)
