"""Lists whose cost does not grow with the table, and whose filters are above the rows."""

import re
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG, SEARCH_VAR, ChangeList
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core import paginator
from django.core.exceptions import ValidationError
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import cached_property
from django.utils.translation import gettext

from .autocomplete import AutocompleteFilter
from .columns import admin_url
from .find_site import secrets_pattern

if TYPE_CHECKING:
    Paginator = paginator.Paginator[Any]
    Mixin = admin.ModelAdmin[Any]
else:
    Paginator, Mixin = paginator.Paginator, object

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


class BoundedPaginator(Paginator):
    """A paginator that lists the first 10,000 rows and does not count the others."""

    @cached_property
    def count(self) -> int:
        return bounded_count(self.object_list)

    @property
    def limit(self) -> str:
        """The maximum number of rows as text if there may be more rows, otherwise empty."""
        return intcomma(MAX_LISTED) if self.count == MAX_LISTED else ""


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


class OperatorListMixin(Mixin):
    """An admin with the lists of this module. Use it before ModelAdmin among the base classes."""

    change_list_template = "usergroups/admin/change_list.html"
    paginator = BoundedPaginator

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
