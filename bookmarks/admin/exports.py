"""The export page of the bookmark admin, and the action that opens it for selected rows."""

from contextlib import nullcontext
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import Max, Min, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.files import EXPORT_FORMATS, MEDIA_TYPES
from bookmarks.files.exporting import StorageUnavailable, download, load
from bookmarks.models import Bookmark
from usergroups.admin_tools.base import OperatorAdmin
from usergroups.admin_tools.confirmation import selection, valid_keys
from usergroups.admin_tools.lists import bounded_count, display_number
from usergroups.models import UserGroup

OF_GROUP = "user_group__id__exact"
"""The query parameter of the filter by user group."""


class FormatForm(forms.Form):
    """The choice of a format."""

    format = forms.ChoiceField(
        label=_("Format"), choices=[("html", _("HTML, for browsers")), ("jsonl", "JSON Lines"), ("csv", "CSV")]
    )


class ExportAdmin(OperatorAdmin):
    """An admin of bookmarks with an export page."""

    def get_urls(self) -> list[URLPattern]:
        return [self.page_path("export/", self.export_view, "export"), *super().get_urls()]

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Export the selected bookmarks, or what the list shows from which the page was opened."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            changelist = self.changelist_before(request)
        except IncorrectLookupParameters:
            return self.refuse_filters()
        bookmarks, keys, filters = changelist.queryset, request.GET.get("keys"), changelist.get_filters_params()
        if keys is not None:
            bookmarks = self.get_queryset(request).filter(pk__in=valid_keys(Bookmark, keys))
        user_group = common_group(bookmarks, [key for key in filters.get(OF_GROUP, []) if key])
        form = FormatForm(request.POST if request.method == "POST" else None)
        problem = ""
        if user_group is None:
            problem = gettext(
                "A file has the bookmarks of one user group. Filter the list by it, or select only its own."
            )
        elif form.is_valid():
            is_whole_group = keys is None and not changelist.query and filters.keys() == {OF_GROUP}
            try:
                return bookmarks_file(form.cleaned_data["format"], bookmarks, user_group, is_whole_group)
            except StorageUnavailable:
                problem = gettext("The server cannot store the file. Try again later.")
        number = display_number(bounded_count(bookmarks))
        page: dict[str, Any] = {"form": form, "problem": problem, "number": number, "is_selection": keys is not None}
        return self.render_page(request, "bookmarks/export_form.html", gettext("Export bookmarks"), **page)

    @admin.action(description=_("Export selected %(verbose_name_plural)s"), permissions=["view"])
    def export_selected(self, request: HttpRequest, queryset: QuerySet[Bookmark]) -> HttpResponse:
        return redirect(f"{self.url_of('export')}?{urlencode(selection(request, queryset))}")


def common_group(bookmarks: QuerySet[Bookmark], filtered_by: list[str]) -> UserGroup | None:
    """Return the user group to which all of the bookmarks belong, if there is one."""
    bounds = bookmarks.order_by().aggregate(first=Min("user_group"), last=Max("user_group"))
    keys = set(filtered_by or bounds.values())
    return UserGroup.objects.for_write().filter(pk__in=keys).first() if len(keys) == 1 else None


def bookmarks_file(
    name: str, bookmarks: QuerySet[Bookmark], user_group: UserGroup, is_whole_group: bool
) -> HttpResponseBase:
    """Return a file of this format with the bookmarks, and with the empty collections of a whole user group."""
    text = EXPORT_FORMATS[name].write(load(user_group, among=None if is_whole_group else bookmarks))
    filename = f"{slugify(user_group.name) or 'bookmarks'}.{name}"
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
    chunks = (chunk.encode() for chunk in text)
    return download(chunks, nullcontext(), content_type=MEDIA_TYPES[name], headers=headers)
