"""Lists whose cost does not grow with the table, and whose filters are above the rows."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG, SEARCH_VAR, ChangeList
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise, cached_property
from django.utils.translation import gettext

from .columns import admin_url, can_view
from .find_site import secrets_pattern
from .forms import AutocompleteField, AutocompleteSelect

MAX_LISTED = 10_000


def bounded_count(rows: Any) -> int:
    """Return the number of rows of a queryset, without counting beyond 10,000."""
    number: int = rows.order_by()[:MAX_LISTED].count()
    return number


def display_number(number: int) -> str:
    """Return a number that was counted up to 10,000 as text."""
    return intcomma(number) if number < MAX_LISTED else f"{intcomma(MAX_LISTED)}+"


def display_rows(number: int, opts: Any) -> str:
    """Return text such as "1 bookmark" or "2,500 bookmarks" for rows of the model with these options."""
    return f"{intcomma(number)} {opts.verbose_name if number == 1 else opts.verbose_name_plural}"


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """A paginator that lists the first 10,000 rows and does not count the others."""

    @cached_property
    def count(self) -> int:
        return bounded_count(self.object_list)

    @property
    def limit(self) -> str:
        """The maximum number of rows as text if there may be more rows, otherwise empty."""
        return intcomma(MAX_LISTED) if self.count == MAX_LISTED else ""


class AutocompleteFilter(admin.FieldListFilter):
    """Filter by a foreign key, with an autocomplete field in place of a list of all rows.

    Only operators who may view the rows that it refers to have the filter.
    """

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, *, field_path: str
    ) -> None:
        self.lookup = f"{field_path}__{field.target_field.name}__exact"
        super().__init__(field, request, params, model, model_admin, field_path=field_path)
        if self.used_parameters.get(self.lookup) == [""]:  # submitted without a choice
            del self.used_parameters[self.lookup]
        self.admin_site = model_admin.admin_site
        self.is_visible = can_view(self.admin_site, request, field.remote_field.model)

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def has_output(self) -> bool:
        return self.is_visible

    def choices(self, changelist: Any) -> Iterator[Any]:
        used: Any = self.used_parameters
        form = forms.Form(initial={self.lookup: used.get(self.lookup, [None])[-1]}, auto_id="filter_%s")
        form.fields[self.lookup] = AutocompleteField(self.field, self.admin_site, required=False)
        yield {"field": form[self.lookup]}


class OperatorChangeList(ChangeList):
    """A list for the template ``usergroups/admin/change_list.html``, which shows the filters above the table."""

    def __init__(self, *args: Any) -> None:
        try:
            super().__init__(*args)
        except (ValueError, OverflowError, DataError) as error:
            raise IncorrectLookupParameters from error  # Django does this for some of these errors only.
        self.has_filters = False  # so that the theme does not show them as well
        if not self.query and not self.has_active_filters:
            self.full_result_count = self.result_count  # hides the link "Show all"

    @property
    def filters(self) -> list[tuple[str, list[Any]]]:
        """The title and the choices of each filter: links, or a form field as ``field``."""
        return [(str(spec.title), list(spec.choices(self))) for spec in self.filter_specs]

    @property
    def other_params(self) -> list[tuple[str, str]]:
        """The names and values of the parameters of the list that are not form fields of its filters."""
        fields = {spec.lookup for spec in self.filter_specs if isinstance(spec, AutocompleteFilter)}
        params: Any = self.filter_params
        return [(name, value) for name, values in params.items() if name not in fields for value in values]


class OperatorListMixin(admin.ModelAdmin):  # type: ignore[type-arg]
    """An admin with the lists of this module. Use it before ModelAdmin among the base classes."""

    change_list_template = "usergroups/admin/change_list.html"
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    empty_text: ClassVar[str | Promise] = ""
    """The text to show when the table is empty."""

    @property
    def media(self) -> forms.Media:
        own = forms.Media(css={"all": ["usergroups/admin.css"]}, js=["admin/js/jquery.init.js", "usergroups/admin.js"])
        of_filters = AutocompleteSelect(None, None).media  # type: ignore[arg-type]
        return super().media + of_filters + own

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return OperatorChangeList

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if re.search(secrets_pattern(self.admin_site), request.GET.get(SEARCH_VAR, "")):
            others = request.GET.copy()
            del others[SEARCH_VAR]
            text = gettext(
                "A secret was removed from the address. Lists do not search for secrets: use Find in the header."
            )
            messages.warning(request, text)
            return redirect(f"{request.path}?{others.urlencode()}")
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response

    def response_action(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse | None:
        try:
            return super().response_action(request, *args, **kwargs)
        except (ValueError, OverflowError, ValidationError, DataError):  # a key that no row can have
            return self.refuse_filters()

    def refuse_filters(self) -> HttpResponse:
        """Return to the list without filters, as Django's list does if one is invalid."""
        return redirect(f"{admin_url(self.admin_site, self.opts, 'changelist')}?{ERROR_FLAG}=1")
