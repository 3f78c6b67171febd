"""The admin of collections."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.fields import is_valid_value
from usergroups.models import UserGroup

from .owned import OWNER_COLUMNS, DistributedAdmin

# limits the autocompletion of collections to those of a user group
USER_GROUP_PARAM = "of_user_group"


@admin.register(Collection)
class CollectionAdmin(DistributedAdmin[Collection]):
    list_display = ("name", *OWNER_COLUMNS, "created_at")
    search_fields = ("name", "user_group__name", "user_group__provided_id")
    find_fields = ("name", "id")
    fixed_fields = ("user_group",)
    related = ((Bookmark, "collection"),)
    readonly_fields = ("id", "created_at", "updated_at")
    deletion_note = _(
        "The bookmarks are kept, without a collection. If bookmarks become duplicates, "
        "only the oldest is kept. It gets the tags of the others, up to 50 in all, and "
        "a title and a note of theirs if it has none."
    )

    def get_fields(
        self, request: HttpRequest, obj: Collection | None = None
    ) -> tuple[str, ...]:
        fields = ("user_group", "name")
        if obj is None:
            return fields
        return (*fields, *self.readonly_fields)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Collection], search_term: str
    ) -> tuple[QuerySet[Collection], bool]:
        """Search only the user group that an autocomplete field names."""
        key: Any = request.GET.get(USER_GROUP_PARAM)
        if key and is_valid_value(UserGroup._meta.pk, key):
            queryset = queryset.filter(user_group=key)
        return super().get_search_results(request, queryset, search_term)
