"""The export page of the bookmark admin, and the action that opens it for selected rows."""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.files import EXPORT_FORMATS, MEDIA_TYPES
from bookmarks.files.exporting import StorageUnavailable, download, load, load_all
from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.autocomplete import AutocompleteFilter, is_valid_value
from usergroups.admin_tools.base import OperatorAdmin
from usergroups.admin_tools.confirmation import MAX_CHANGED
from usergroups.admin_tools.context import FILTERS_PARAM
from usergroups.admin_tools.lists import display_number
from usergroups.models import UserGroup

from .forms import FormatForm, SeveralGroupsForm

SELECTED = "selected"
"""The form field with the keys of the bookmarks that were selected in the list."""


@dataclass
class Scope:
    """The bookmarks to export, and the user group and the collection to which all of them belong, if there is one."""

    bookmarks: QuerySet[Bookmark]
    number: str
    user_group: UserGroup | None = None
    collection: Collection | None = None
    is_whole_group: bool = False

    def load(self) -> Iterable[Bookmark | Collection]:
        if self.user_group is None:
            return load_all(self.bookmarks)
        return load(self.user_group, self.collection, None if self.is_whole_group else self.bookmarks)

    def form(self, data: Any = None) -> forms.Form:
        return (FormatForm if self.user_group else SeveralGroupsForm)(data)


class ExportAdmin(OperatorAdmin):
    """An admin of bookmarks with an export page."""

    def get_urls(self) -> list[URLPattern]:
        return [self.page_path("export/", self.export_view, "export"), *super().get_urls()]

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        keys = request.POST.get(SELECTED)
        try:
            scope = self.filtered(request) if keys is None else self.selected(request, keys.split(","))
        except IncorrectLookupParameters:
            return self.refuse_filters()
        form = scope.form(request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return self.render_export(request, form, scope, keys)
        name = form.cleaned_data["format"]
        text = EXPORT_FORMATS[name].write(scope.load(), **({} if scope.user_group else {"with_owner": True}))
        filename = f"{(scope.user_group and slugify(scope.user_group.name)) or 'bookmarks'}.{name}"
        headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
        pieces = (piece.encode() for piece in text)
        try:
            return download(pieces, nullcontext(), content_type=MEDIA_TYPES[name], headers=headers)
        except StorageUnavailable:
            problem = gettext("The server cannot store the file. Try again later.")
            return self.render_export(request, form, scope, keys, problem)

    @admin.action(description=_("Export selected %(verbose_name_plural)s"), permissions=["view"])
    def export_selected(self, request: HttpRequest, queryset: QuerySet[Bookmark]) -> HttpResponseBase:
        """Show the export page for the selected rows, or for the filtered list if all of its rows are selected."""
        if request.POST.get("select_across") == "1":
            return redirect(f"{self.url_of('export')}?{urlencode({FILTERS_PARAM: request.GET.urlencode()})}")
        keys = [str(key) for key in queryset.values_list("pk", flat=True)[:MAX_CHANGED]]
        scope = self.selected(request, keys)
        return self.render_export(request, scope.form(), scope, ",".join(keys))

    def selected(self, request: HttpRequest, keys: Iterable[str]) -> Scope:
        """Return the bookmarks with these primary keys, of which some may be invalid."""
        valid = [key for key in keys if is_valid_value(Bookmark._meta.pk, key)][:MAX_CHANGED]
        bookmarks = self.get_queryset(request).filter(pk__in=valid)
        groups = {bookmark.user_group for bookmark in bookmarks}
        return Scope(bookmarks, display_number(len(bookmarks)), groups.pop() if len(groups) == 1 else None)

    def filtered(self, request: HttpRequest) -> Scope:
        """Return what the list shows from which the page was opened.

        Raises IncorrectLookupParameters if a filter is invalid.
        """
        changelist = self.changelist_before(request)
        used = changelist.get_filters_params()
        offered = {name for each in changelist.filter_specs for name in each.expected_parameters()}
        if not offered.issuperset(used) or any(len(values) > 1 for values in used.values()):
            raise IncorrectLookupParameters
        filters = {getattr(each, "field_path", ""): each for each in changelist.filter_specs if each.used_parameters}
        chosen = {path: each.chosen_row() for path, each in filters.items() if isinstance(each, AutocompleteFilter)}
        collection = chosen.get("collection")
        user_group = chosen.get("user_group") or (collection.user_group if collection else None)
        is_whole_group = not changelist.query and filters.keys() == {"user_group"}
        number = display_number(changelist.result_count)
        return Scope(changelist.queryset, number, user_group, collection, is_whole_group)

    def render_export(
        self, request: HttpRequest, form: forms.Form, scope: Scope, keys: str | None, problem: str = ""
    ) -> HttpResponse:
        page: dict[str, Any] = {
            "scope": scope,
            "selected_field": SELECTED,
            "keys": keys,
            "url": self.url_of("export"),
            "form": form,
            "problem": problem,
        }
        return self.render_page(request, "bookmarks/export_form.html", gettext("Export bookmarks"), **page)
