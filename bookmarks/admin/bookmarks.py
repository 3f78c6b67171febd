"""The admin of bookmarks."""

from django import forms
from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from bookmarks import web_url
from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.autocomplete import AutocompleteFilter, set_query_params

from .collections import USER_GROUP_PARAM
from .exports import ExportingAdmin
from .imports import ImportingAdmin
from .owned import OWNER_COLUMNS, DistributedAdmin


@admin.register(Bookmark)
class BookmarkAdmin(ExportingAdmin, ImportingAdmin, DistributedAdmin[Bookmark]):
    list_display = ("url", "title", *OWNER_COLUMNS, "in_collection", "created_at")
    list_filter = (
        *DistributedAdmin.list_filter,
        ("collection", AutocompleteFilter),
        ("collection", admin.EmptyFieldListFilter),
    )
    search_fields = ("url", "title", "tags", "note")
    find_fields = ("id",)
    is_linked_by_find = True
    fixed_fields = ("user_group",)
    readonly_fields = ("url_link", "id", "created_at", "updated_at")
    # Only the default ordering, by creation, has an index on every database.
    sortable_by = ()
    autocomplete_fields = ("user_group", "collection")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bookmark]:
        # A join by the collection alone is not possible on Citus, which
        # distributes both tables by user group.
        collections = Collection.objects.for_write()
        rows = super().get_queryset(request)
        return rows.prefetch_related(Prefetch("collection", collections))

    def exact_condition(self, text: str) -> Q:
        """Return the condition that the URL equals the text.

        A text that is not a URL may be an id.
        """
        try:
            digest = web_url.digest(text)
        except ValueError:
            return super().exact_condition(text)
        return Q(url_digest=digest)

    def details(self, row: Bookmark) -> list[object]:
        return [row.title, row.user_group]

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # Order a filtered list as an index does. Otherwise, PostgreSQL might
        # read the bookmarks of all groups.
        for name in ("user_group__id__exact", "collection__id__exact"):
            if name in request.GET:
                return ("-user_group_id", "-created_at", "-id")
        return self.ordering

    def get_fields(
        self, request: HttpRequest, obj: Bookmark | None = None
    ) -> tuple[str, ...]:
        fields = ("title", "tags", "note")
        if obj is None:
            return ("user_group", "url", *fields)
        dates = ("id", "created_at", "updated_at")
        return ("user_group", "url_link", *fields, "collection", *dates)

    def get_form(
        self,
        request: HttpRequest,
        obj: Bookmark | None = None,
        change: bool = False,
        **kwargs: object,
    ) -> "type[forms.ModelForm[Bookmark]]":
        """Offer only the collections of the bookmark's user group."""
        form = super().get_form(request, obj, change, **kwargs)
        if obj is None:
            return form
        field = form.base_fields.get("collection")
        # The field is missing if the user may only view the bookmark.
        if isinstance(field, forms.ModelChoiceField):
            collections = obj.user_group.collections.for_write()
            field.queryset = collections.select_related("user_group__team")
            set_query_params(field, {USER_GROUP_PARAM: obj.user_group_id})
            text = _("The user group has no such collection.")
            field.error_messages["invalid_choice"] = text
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
