"""Lists whose cost does not grow with the table, the filters above them, and the content of their cells."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG, ChangeList
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, localize
from django.utils.functional import Promise, cached_property
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.timesince import timesince, timeuntil
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .forms import AutocompleteField, AutocompleteSelect

MAX_LISTED = 10_000

UNUSABLE = (IncorrectLookupParameters, ValueError, OverflowError, ValidationError, DataError)
"""The errors for a filter, or for the key of a selected row, with a value that no row can have."""


def admin_of(site: admin.AdminSite, model: Any) -> Any:
    """Return the admin of the model, or None if it is not registered."""
    return site.get_model_admin(model) if site.is_registered(model) else None


def can_view(site: admin.AdminSite, request: HttpRequest, model: Any) -> bool:
    """Return whether the model is registered and the user may view it."""
    model_admin = admin_of(site, model)
    return model_admin is not None and model_admin.has_view_permission(request)


def admin_url(site: admin.AdminSite, opts: Any, page: str, *args: Any) -> str:
    """Return the address of a page, such as ``"changelist"``, of the model with these options."""
    return reverse(f"{site.name}:{opts.app_label}_{opts.model_name}_{page}", args=args)


def bounded_count(rows: Any) -> int:
    """Return the number of rows of a queryset, without counting beyond 10,000."""
    number: int = rows.order_by()[:MAX_LISTED].count()
    return number


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
    """Filter by a foreign key, with an autocomplete field in place of a list of all rows."""

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, *, field_path: str
    ) -> None:
        self.lookup = f"{field_path}__{field.target_field.name}__exact"
        super().__init__(field, request, params, model, model_admin, field_path=field_path)
        if self.used_parameters.get(self.lookup) == [""]:  # submitted without a choice
            del self.used_parameters[self.lookup]
        self.admin_site = model_admin.admin_site

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def choices(self, changelist: Any) -> Iterator[Any]:
        used: Any = self.used_parameters
        form = forms.Form(initial={self.lookup: used.get(self.lookup, [None])[-1]}, auto_id="filter_%s")
        form.fields[self.lookup] = AutocompleteField(self.field, self.admin_site, required=False)
        yield {"field": form[self.lookup]}


class OperatorChangeList(ChangeList):
    """A list for the template ``usergroups/admin/change_list.html``, which shows the filters above the table."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.title = self.model_admin.list_title or capfirst(self.opts.verbose_name_plural)
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


class OperatorListAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """An admin with the lists of this module."""

    change_list_template = "usergroups/admin/change_list.html"
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_title: ClassVar[str | Promise] = ""
    """The heading of the list, if it is not the name of the model."""
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
        try:
            response: HttpResponse = super().changelist_view(request, extra_context)
        except UNUSABLE:
            return self.refuse_filters()
        return response

    def refuse_filters(self) -> HttpResponse:
        """Return to the list without filters, as Django's list does if one is invalid."""
        return redirect(f"{admin_url(self.admin_site, self.opts, 'changelist')}?{ERROR_FLAG}=1")

    # Cells

    def link_to(self, row: Any, text: str = "") -> str:
        """Return a link to the page of a row. It shows the name of the row, or ``text``."""
        if not self.admin_site.is_registered(type(row)):
            return text or str(row)
        return format_html('<a href="{}">{}</a>', admin_url(self.admin_site, row._meta, "change", row.pk), text or row)

    @admin.display(description=_("team"))
    def team_link(self, row: Any) -> str:
        return self.link_to(row.team)

    @admin.display(description=_("environment"), ordering="environment")
    def environment_badge(self, row: Any) -> str:
        return badge(row.environment.lower(), row.environment)

    @admin.display(description=_("created"), ordering="created_at")
    def created(self, row: Any) -> str:
        return short_date(row.created_at)

    @admin.display(description=_("updated"), ordering="updated_at")
    def updated(self, row: Any) -> str:
        return short_date(row.updated_at)


def joined(*parts: Any) -> str:
    """Return the parts that are not empty in one line."""
    return format_html_join(" · ", "{}", ([part] for part in parts if part))


def two_lines(first: str, second: str) -> str:
    """Return the content of a cell with a secondary line in small type."""
    return format_html('{} <small class="second-line">{}</small>', first, second) if second else first


def badge(kind: str, text: Any) -> str:
    """Return a badge, whose color depends on ``kind``."""
    return format_html('<span class="badge {}">{}</span>', kind, text) if kind else "-"


def time_element(at: datetime, text: str) -> str:
    """Return HTML with the exact time as a tooltip."""
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), localize(localtime(at)), text)


def short_date(at: datetime) -> str:
    """Return the content of a cell with a date."""
    return time_element(at, date_format(localtime(at), "DATE_FORMAT"))


def relative_time(at: datetime | None) -> str | None:
    """Return HTML such as "in 3 days" or "2 hours ago"."""
    if at is None:
        return None
    if at <= timezone.now():
        text = gettext("%(time)s ago") % {"time": timesince(at, depth=1)}
    else:
        text = gettext("in %(time)s") % {"time": timeuntil(at, depth=1)}
    return time_element(at, text)
