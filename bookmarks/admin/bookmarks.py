"""The admin of bookmarks."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from bookmarks import web_url
from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.autocomplete import AutocompleteFilter

from .collections import limit_to_group
from .exports import ExportingAdmin
from .imports import ImportingAdmin
from .moves import MovingAdmin
from .owned import OWNER_COLUMNS, DistributedAdmin

EDITABLE = ("collection", "title", "tags", "note")  # on the page of a bookmark


@admin.register(Bookmark)
class BookmarkAdmin(
    MovingAdmin, ExportingAdmin, ImportingAdmin, DistributedAdmin[Bookmark]
):
    list_display = ("url", "title", *OWNER_COLUMNS, "in_collection", "created")
    list_filter = (*DistributedAdmin.list_filter, ("collection", AutocompleteFilter))
    search_fields = ("url", "title", "tags", "note")
    find_fields = ("id",)
    # Only the default ordering, by creation, has an index on every database.
    sortable_by = ()
    autocomplete_fields: ClassVar[Any] = ("user_group", "collection")
    actions = ("move", "delete_selected")
    object_actions = {"move": _("Move")}
    empty_text = _("Applications create bookmarks with POST /v1/bookmarks.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bookmark]:
        # A join by the collection alone is not possible on Citus, which
        # distributes both tables by user group.
        collections = Collection.objects.for_write()
        rows = super().get_queryset(request)
        return rows.prefetch_related(Prefetch("collection", collections))

    def text_condition(self, text: str, lookup: str) -> Q:
        """Return the condition that the URL equals the text, or none if the
        lookup is "icontains".

        A text that is not a URL may be an id.
        """
        try:
            digest = web_url.digest(text)
        except ValueError:
            return super().text_condition(text, lookup)
        if lookup == "exact":
            return Q(url_digest=digest)
        return Q()

    def details(self, row: Bookmark) -> list[Any]:
        return [row.title, row.user_group]

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # Order a filtered list as an index does. Otherwise, PostgreSQL might
        # read the bookmarks of all groups.
        filters = {"user_group__id__exact", "collection__id__exact"}
        if filters & request.GET.keys():
            return ("-user_group_id", "-created_at", "-id")
        return self.ordering

    def get_fields(
        self, request: HttpRequest, obj: Bookmark | None = None
    ) -> tuple[str, ...]:
        if obj is None:
            return ("user_group", "url", "title", "tags", "note")
        return (*EDITABLE, "user_group", "url_link", "id", "created_at", "updated_at")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Bookmark | None = None
    ) -> tuple[str, ...]:
        if obj is None:
            return ()
        fields = self.get_fields(request, obj)
        return tuple(name for name in fields if name not in EDITABLE)

    def get_form(
        self,
        request: HttpRequest,
        obj: Bookmark | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        # The field is missing if the user may only view the bookmark.
        if obj is not None and "collection" in form.base_fields:
            limit_to_group(form.base_fields["collection"], obj.user_group)
        return form

    @admin.display(description="URL")
    def url_link(self, bookmark: Bookmark) -> str:
        """Return a link that sends no referrer, or only the text if the scheme
        is not http or https.
        """
        if not bookmark.url.lower().startswith(("http://", "https://")):
            return bookmark.url
        return format_html(
            '<a href="{0}" target="_blank" rel="noopener noreferrer">{0}</a>',
            bookmark.url,
        )

    @admin.display(description=_("collection"))
    def in_collection(self, bookmark: Bookmark) -> str | None:
        if bookmark.collection is None:
            return None
        return bookmark.collection.name
