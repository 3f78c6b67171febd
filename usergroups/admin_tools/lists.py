"""Lists whose cost does not grow with the table."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from django import forms
from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.admin.views.main import (
    ERROR_FLAG,
    ORDER_VAR,
    PAGE_VAR,
    ChangeList,
)
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DataError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import content_disposition_header
from django.utils.text import capfirst, slugify
from django.utils.translation import get_language, gettext, ngettext

from .autocomplete import AutocompleteSelect
from .csv_lists import csv_lines
from .pages import M, PagesAdmin, can_view
from .paginator import MAX_LISTED, BoundedPaginator, newest_rows, number_as_text
from .search import SearchForm, is_valid_query, rows_to_search

UNUSABLE = (
    IncorrectLookupParameters,
    ValueError,
    OverflowError,
    ValidationError,
    DataError,
)
"""The errors that a query raises if a filter, or the key of a selected row,
has a malformed value.
"""


ListFilters: TypeAlias = tuple[
    str | type[admin.ListFilter] | tuple[str, type[admin.FieldListFilter]], ...
]
"""A ``list_filter``: fields, classes, and fields with the classes of their
filters.
"""


def filter_name(each: object) -> str:
    """Return the field, or else the query parameter, of an element of
    ``list_filter``.
    """
    if isinstance(each, tuple):
        return str(each[0])
    return str(getattr(each, "parameter_name", each))


class OperatorChangeList(ChangeList):
    """A list for the template ``usergroups/admin/change_list.html``, which
    shows the filters above the table.
    """

    search_form_class = SearchForm

    model_admin: "OperatorListAdmin[Any]"
    searched_rows = ""
    """The number of rows that were searched, as text, if there are more rows."""

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        super().__init__(request, *args)
        # Django's get_search_results() returns only rows and a flag, so that of
        # the model admin leaves this text in the request.
        self.searched_rows = getattr(request, "searched_rows", "")
        name = capfirst(self.opts.verbose_name_plural)
        self.title = str(self.model_admin.list_title or name)
        # The template shows the filters. The one that it extends, which is
        # Django's or a theme's, must not show them as well.
        self.has_filters = False
        for spec in self.filter_specs:
            spec.template = "usergroups/admin/filter.html"

    @property
    def number(self) -> str:
        """The number of rows as text, with what it leaves out."""
        number = number_as_text(self.result_count)
        if self.searched_rows:
            text = gettext("{number} of the first {limit}, which were searched")
            return text.format(number=number, limit=self.searched_rows)
        text = ngettext("{number} result", "{number} results", self.result_count)
        return text.format(number=number)

    @property
    def pages(self) -> Iterator[int | str]:
        """The numbers of the pages that the list links to."""
        pages: Iterator[int | str] = self.paginator.get_elided_page_range(self.page_num)
        return pages

    @property
    def csv_url(self) -> str:
        """The address of the file with the rows of all pages."""
        query = self.get_query_string(remove=[PAGE_VAR])
        return f"{self.model_admin.url_of('csv')}{query}"

    def get_filters(self, request: HttpRequest) -> Any:
        """Refuse each lookup that is not a parameter of a filter of the list.

        Django would allow any lookup of the fields of the model, which may
        reveal hidden values, such as tokens, or read the whole table.

        The key of a row is allowed for a filter that ``get_list_filter`` leaves
        out, because the rows of the list link to it.
        """
        filters = super().get_filters(request)
        models = {
            filter_name(each): self.model_admin.filtering_model(each)
            for each in self.model_admin.list_filter
        }
        allowed = {
            f"{name}__{model._meta.pk.name}__exact"
            for name, model in models.items()
            if model is not None
        }
        if filters[2].keys() - allowed:
            raise DisallowedModelAdminLookup("The list has no such filter.")
        return filters

    def get_queryset(self, *args: Any, **kwargs: Any) -> QuerySet[Any]:
        """Limit a list that the user sorts to the newest rows, because no
        index has the order of the column.
        """
        rows = super().get_queryset(*args, **kwargs)
        is_sorted = self.sortable_by and ORDER_VAR in self.params
        # A search is limited already.
        is_searched = self.query and self.search_fields
        if is_searched or not is_sorted:
            return rows
        return newest_rows(rows)

    def get_ordering_field(self, field_name: Any) -> Any:
        """Return None for a column that cannot be sorted by.

        Django only omits its link.
        """
        if self.sortable_by is not None and field_name not in self.sortable_by:
            return None
        return super().get_ordering_field(field_name)


class OperatorListAdmin(PagesAdmin[M]):
    """An admin whose list shows at most 10,000 rows, with the filters above
    them.
    """

    change_list_template = "usergroups/admin/change_list.html"
    paginator = BoundedPaginator
    show_full_result_count = False
    list_max_show_all = 0
    show_facets = admin.ShowFacets.NEVER
    list_title: str | Promise = ""
    """The heading of the list, if it is not the name of the model."""
    is_linked_by_find = False
    """Whether the page Find links to a search of this list."""

    @property
    def media(self) -> forms.Media:
        # The scripts of the widget depend on neither of its arguments.
        widget = AutocompleteSelect(None, None)  # type: ignore[arg-type]
        own = forms.Media(
            css={"all": ["usergroups/admin.css"]},
            js=[
                "admin/js/jquery.init.js",
                "usergroups/change_form.js",
                "usergroups/admin.js",
            ],
        )
        return super().media + widget.media + own

    def get_changelist(
        self, request: HttpRequest, **kwargs: object
    ) -> type[ChangeList]:
        return OperatorChangeList

    def get_list_filter(self, request: HttpRequest) -> ListFilters:
        """Leave out the filters by rows that the user may not view, because
        they offer all rows and show the name of the chosen one.
        """
        visible: list[Any] = []
        for each in self.list_filter:
            model = self.filtering_model(each)
            if model is None or can_view(self.admin_site, request, model):
                visible.append(each)
        return tuple(visible)

    def filtering_model(self, each: object) -> Any:
        """Return the model whose rows an element of ``list_filter`` offers, if
        any.
        """
        if not isinstance(each, tuple):
            return None
        field = get_fields_from_path(self.model, each[0])[-1]
        return field.related_model

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        """Show the list, without filters if one has a malformed value."""
        try:
            return super().changelist_view(request, extra_context)
        except UNUSABLE:
            # The list cannot be shown without filters, either.
            if list(request.GET) == [ERROR_FLAG]:
                raise
            return redirect(f"{request.path}?{ERROR_FLAG}=1")

    def get_urls(self) -> list[URLPattern]:
        csv_page = self.page_path("csv/", self.csv_view, "csv")
        return [csv_page, *super().get_urls()]

    def csv_view(self, request: HttpRequest) -> HttpResponseBase:
        """Return the list with the filters, the search and the order of the
        query parameters as a CSV file.
        """
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        try:
            changes = self.get_changelist_instance(request)
            keys = list(changes.queryset.values_list("pk", flat=True)[:MAX_LISTED])
        except UNUSABLE:
            return redirect(f"{self.url_of('changelist')}?{ERROR_FLAG}=1")
        name = f"{self.opts.verbose_name_plural} {timezone.now():%Y-%m-%d}"
        disposition = content_disposition_header(True, f"{slugify(name)}.csv")
        return StreamingHttpResponse(
            csv_lines(changes, keys, get_language()),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": disposition},
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[M], search_term: str
    ) -> tuple[QuerySet[M], bool]:
        """Search the rows that ``rows_to_search()`` returns.

        If there are more rows, set ``searched_rows`` of the request to the
        number of searched ones, as text. A term that is too long, which only
        an autocomplete field can have, finds nothing.
        """
        search_fields = self.get_search_fields(request)
        if not (search_term and search_fields):
            return queryset, False
        if not is_valid_query(search_term):
            return queryset.none(), False
        ordering: Any = self.get_ordering(request) or ("-pk",)
        # without the prefixes of Django that select the kind of comparison
        searched = [name.lstrip("^=@") for name in search_fields]
        rows, number = rows_to_search(queryset, ordering, searched)
        if number is not None:
            request.searched_rows = intcomma(number)  # type: ignore[attr-defined]
        return super().get_search_results(request, rows, search_term)
