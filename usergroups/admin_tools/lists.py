"""Lists whose cost does not grow with the table, with their filters and cells,
and the list of all changes.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import (
    IncorrectLookupParameters,
    get_content_type_for_model,
)
from django.contrib.admin.views.main import (
    ERROR_FLAG,
    SEARCH_VAR,
    ChangeList,
    ChangeListSearchForm,
)
from django.contrib.contenttypes.models import ContentType
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import DataError, models
from django.db.models import F, Value
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, localize
from django.utils.functional import Promise, cached_property
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst, smart_split
from django.utils.timesince import timesince, timeuntil
from django.utils.timezone import localtime
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from usergroups.api.pagination import RowValue

from .forms import AutocompleteSelect, autocomplete_field, indent_json

MAX_LISTED = 10_000  # rows

# A search compares each word with each field of each row.
MAX_QUERY_LENGTH = 100  # characters
MAX_WORDS = 5
MAX_SEARCHED_SIZE = 2_000_000  # characters of the rows

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


def can_view(site: admin.AdminSite, request: HttpRequest, model: Any) -> bool:
    """Return whether the model is registered and the user may view it."""
    return site.is_registered(model) and site.get_model_admin(
        model
    ).has_view_permission(request)


def admin_url(site: admin.AdminSite, opts: Any, page: str, *args: Any) -> str:
    """Return the address of a page, such as ``"changelist"``, of the model
    with these options.
    """
    return reverse(f"{site.name}:{opts.app_label}_{opts.model_name}_{page}", args=args)


def bounded_count(rows: Any) -> int:
    """Return the number of rows of a queryset, without counting beyond 10,000."""
    return int(rows.order_by()[:MAX_LISTED].count())


def display_rows(number: int, opts: Any) -> str:
    """Return text such as "1 bookmark" or "2,500 bookmarks" for rows of the
    model with these options.
    """
    return (
        f"{intcomma(number)} "
        f"{opts.verbose_name if number == 1 else opts.verbose_name_plural}"
    )


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """A paginator that lists the first 10,000 rows and does not count the
    others.
    """

    @cached_property
    def count(self) -> int:
        return bounded_count(self.object_list)

    @property
    def limit(self) -> str:
        """The maximum number of rows as text if there may be more rows,
        otherwise empty.
        """
        return intcomma(MAX_LISTED) if self.count == MAX_LISTED else ""


class AutocompleteFilter(admin.FieldListFilter):
    """Filter by a foreign key, with an autocomplete field in place of a list
    of all rows.
    """

    def __init__(
        self,
        field: Any,
        request: HttpRequest,
        params: Any,
        model: Any,
        model_admin: Any,
        *,
        field_path: str,
    ) -> None:
        self.lookup = f"{field_path}__{field.target_field.name}__exact"
        super().__init__(
            field, request, params, model, model_admin, field_path=field_path
        )
        if self.used_parameters.get(self.lookup) == [""]:  # submitted without a choice
            del self.used_parameters[self.lookup]
        self.admin_site = model_admin.admin_site

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def choices(self, changelist: Any) -> Iterator[Any]:
        used: Any = self.used_parameters
        form = forms.Form(
            initial={self.lookup: used.get(self.lookup, [None])[-1]},
            auto_id="filter_%s",
        )
        form.fields[self.lookup] = autocomplete_field(
            self.field, self.admin_site, required=False
        )
        params = changelist.filter_params.items()
        others = [
            (name, value)
            for name, values in params
            if name != self.lookup
            for value in values
        ]
        # The form also sends the other filters.
        yield {"field": form[self.lookup], "others": others}


def is_valid_query(text: str) -> bool:
    """Return whether a list can be searched for the text."""
    return len(text) <= MAX_QUERY_LENGTH and len(list(smart_split(text))) <= MAX_WORDS


def validate_query(text: str) -> None:
    """Raise ValidationError if a list cannot be searched for the text."""
    if not is_valid_query(text):
        message = gettext(
            "Search for at most %(length)s characters and %(words)s words."
        )
        raise ValidationError(
            message % {"length": MAX_QUERY_LENGTH, "words": MAX_WORDS}
        )


class SearchForm(ChangeListSearchForm):
    """The search field of a list.

    If the text is not valid, the list shows the error and all rows.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[SEARCH_VAR].validators.append(validate_query)


class OperatorChangeList(ChangeList):
    """A list for the template ``usergroups/admin/change_list.html``, which
    shows the filters above the table.
    """

    search_form_class = SearchForm

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        model_admin: Any = self.model_admin
        self.title = str(
            model_admin.list_title or capfirst(self.opts.verbose_name_plural)
        )
        if not (self.query or self.has_active_filters):
            # so that there is no link "Show all"
            self.full_result_count = self.result_count
        # so that the template of Django or of a theme does not show them as
        # well
        self.has_filters = False
        for spec in self.filter_specs:
            spec.template = "usergroups/admin/filter.html"

    def get_ordering_field(self, field_name: Any) -> Any:
        """Return None for a column that cannot be sorted by.

        Django only omits its link.
        """
        if self.sortable_by is not None and field_name not in self.sortable_by:
            return None
        return super().get_ordering_field(field_name)

    def get_queryset(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        queryset = super().get_queryset(request, *args, **kwargs)
        self.search_limit = getattr(request, "search_limit", "")
        return queryset


class OperatorListAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """An admin whose list shows at most 10,000 rows, with the filters above
    them. It defines some common columns.
    """

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
        own = forms.Media(
            css={"all": ["usergroups/admin.css"]},
            js=["admin/js/jquery.init.js", "usergroups/admin.js"],
        )
        return super().media + AutocompleteSelect(None, None).media + own  # type: ignore[arg-type]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return OperatorChangeList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        # SQLite raises OperationalError for a malformed regular expression.
        return not lookup.endswith("regex") and super().lookup_allowed(
            lookup, value, request
        )

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        try:
            return super().changelist_view(request, extra_context)
        except UNUSABLE:
            if {*request.GET} == {ERROR_FLAG}:
                raise  # The list cannot be shown without filters, either.
            return redirect(f"{request.path}?{ERROR_FLAG}=1")

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        """Search the first rows in the order of the list: at most 10,000, and
        2,000,000 characters.

        The fields of the order must not be null, and have the same direction.
        If there are more rows, set ``search_limit`` of the request to the
        number of searched ones, as text. A term that is too long, which only
        an autocomplete field can have, finds nothing.
        """
        if not search_term:
            return queryset, False
        if not is_valid_query(search_term):
            return queryset.none(), False
        ordering = [*self.get_ordering(request)] or ["-pk"]
        names = [name.lstrip("-") for name in ordering]
        descending = ordering[0].startswith("-")
        ordered = queryset.order_by(
            *(f"-{name}" for name in names) if descending else names
        )
        lengths = [
            Length(name.lstrip("^=@")) for name in self.get_search_fields(request)
        ]
        sizes = ordered.values_list(reduce(add, lengths), flat=True)[: MAX_LISTED + 1]
        totals = list(accumulate(size or 0 for size in sizes))
        number = max(
            1, sum(total <= MAX_SEARCHED_SIZE for total in totals[:MAX_LISTED])
        )
        if number < len(totals):
            request.search_limit = intcomma(number)  # type: ignore[attr-defined]
            [last] = ordered.values_list(*names)[number - 1 : number]
            fields: list[Any] = [
                self.opts.pk if name == "pk" else self.opts.get_field(name)
                for name in names
            ]
            values = [
                Value(value, field) for value, field in zip(last, fields, strict=True)
            ]
            # With a subquery of keys, PostgreSQL may read the whole table.
            until = GreaterThanOrEqual if descending else LessThanOrEqual
            queryset = queryset.filter(
                until(RowValue(*map(F, names)), RowValue(*values))
            )
        return super().get_search_results(request, queryset, search_term)

    # Cells

    def link_to(self, row: Any, text: str = "") -> str:
        """Return a link to the page of a row.

        It shows the name of the row, or ``text``.
        """
        if not self.admin_site.is_registered(type(row)):
            return text or str(row)
        return format_html(
            '<a href="{}">{}</a>',
            admin_url(self.admin_site, row._meta, "change", row.pk),
            text or row,
        )

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


def two_lines(first: str, second: str) -> str:
    """Return the content of a cell with a secondary line in small type."""
    return (
        format_html('{} <small class="second-line">{}</small>', first, second)
        if second
        else first
    )


def badge(kind: str, text: Any) -> str:
    """Return a badge, whose color depends on ``kind``."""
    return format_html('<span class="badge {}">{}</span>', kind, text) if kind else "-"


def time_element(at: datetime, text: str) -> str:
    """Return HTML with the exact time as a tooltip."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(),
        localize(localtime(at)),
        text,
    )


def short_date(at: datetime) -> str:
    """Return the content of a cell with a date."""
    return time_element(at, date_format(localtime(at), "DATE_FORMAT"))


def relative_time(at: datetime | None) -> str | None:
    """Return HTML such as "in 3 days" or "2 hours ago", in the largest unit
    only.
    """
    if at is None:
        return None
    if at <= timezone.now():
        text = gettext("%(time)s ago") % {"time": timesince(at, depth=1)}
    else:
        text = gettext("in %(time)s") % {"time": timeuntil(at, depth=1)}
    return time_element(at, text)


# The history. Like Django's, its messages are stored in English and translated
# for display.

MAX_OPEN = 100
"""The number of characters of a value above which it is collapsed."""

# Django stores the English labels of changed fields, and translates them. Mark
# those that are not marked elsewhere.
LABELS = (
    gettext_noop("Collection"),
    gettext_noop("Mapping"),
    gettext_noop("Properties"),
)


def message_of(entry: LogEntry) -> str:
    """Return the message in the active language.

    One in plain text may end with a colon and a value.
    """
    if entry.is_deletion():
        return gettext("Deleted.")
    if not entry.change_message or entry.change_message.startswith("["):
        return entry.get_change_message()
    text, colon, value = entry.change_message.partition(": ")
    return f"{gettext(text)}{colon}{value}"


def log_rows(
    user: Any, flag: int, messages: Sequence[tuple[models.Model, str]]
) -> None:
    """Write an entry of the history for each row, with its message, in one
    statement.
    """
    LogEntry.objects.bulk_create(
        LogEntry(
            user_id=user.pk,
            content_type=get_content_type_for_model(row),
            object_id=row.pk,
            object_repr=str(row)[:200],
            action_flag=flag,
            change_message=message,
        )
        for row, message in messages
    )


def values_of(entry: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield each changed field with its old and its new value, except values
    that were too long to be kept.
    """
    fields = {
        field.name: field
        for field in entry.content_type.model_class()._meta.concrete_fields
    }
    parts = (
        json.loads(entry.change_message) if entry.change_message.startswith("[") else []
    )
    for part in parts:
        for name, pair in part.get("changed", {}).get("values", {}).items():
            if name in fields and pair != [None, None]:
                yield fields[name], *pair


def visible_content_types(
    site: admin.AdminSite, request: HttpRequest
) -> list[ContentType]:
    """Return the content types of the models that the user may view, without
    LogEntry itself.
    """
    visible = [
        model
        for model in site._registry
        if model is not LogEntry and can_view(site, request, model)
    ]
    return (
        list(ContentType.objects.get_for_models(*visible).values()) if visible else []
    )


class ObjectFilter(admin.SimpleListFilter):
    title = _("object")
    parameter_name = "content_type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [
            (kind.pk, capfirst(kind.name))
            for kind in visible_content_types(model_admin.admin_site, request)
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(content_type=self.value()) if self.value() else queryset


class ChangesAdmin(OperatorListAdmin):
    """A read-only list of changes, also of objects that were deleted.

    It shows those of models that the user may view.

    Register it for ``django.contrib.admin.models.LogEntry``.
    """

    list_title = _("Changes")
    list_display = ("action_time", "operator", "changed_object", "change")
    list_display_links = None
    list_filter = (
        ("user", AutocompleteFilter),
        ObjectFilter,
        "action_flag",
        "action_time",
    )
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "object_id")
    sortable_by = ()
    ordering = ("-id",)
    actions = ()
    empty_text = _("Changes that operators make in the admin are listed here.")

    def get_queryset(self, request: HttpRequest) -> Any:
        return (
            super()
            .get_queryset(request)
            .filter(content_type__in=visible_content_types(self.admin_site, request))
        )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(visible_content_types(self.admin_site, request))

    has_module_permission = has_view_permission

    def is_writable(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = is_writable

    @admin.display(description=_("User"))
    def operator(self, entry: LogEntry) -> str:
        return entry.user.get_full_name() or entry.user.get_username()

    @admin.display(description=_("object"))
    def changed_object(self, entry: Any) -> str:
        shown = entry.object_repr
        if not entry.is_deletion():
            shown = format_html('<a href="{}">{}</a>', self.page_of(entry), shown)
        return format_html("{}: {}", capfirst(entry.content_type.name), shown)

    @admin.display(description=_("change"))
    def change(self, entry: Any) -> str:
        """Return the message, the old and the new values, and a link that
        restores the old ones.
        """
        values, restore = list(values_of(entry)), ""
        if values:
            restore = format_html(
                '<a href="{}?restore={}">{}</a>',
                self.page_of(entry),
                entry.pk,
                gettext("Restore"),
            )
        shown = format_html_join("", "{}", ((show_values(*each),) for each in values))
        return format_html("{} {}{}", message_of(entry), shown, restore)

    def page_of(self, entry: Any) -> str:
        """Return the address of the object's page."""
        return admin_url(
            self.admin_site,
            entry.content_type.model_class()._meta,
            "change",
            entry.object_id,
        )


def text_of(field: Any, value: Any) -> str:
    """Return a value from an entry of the history as text."""
    if isinstance(field, models.JSONField):
        return indent_json(value) or "-"
    return str(value["text"] if value and field.is_relation else localize(value) or "-")


def show_values(field: Any, old: Any, new: Any) -> str:
    """Return the old and the new value of a field, collapsed if they are long."""
    before, after = text_of(field, old), text_of(field, new)
    is_open = len(before) <= MAX_OPEN and len(after) <= MAX_OPEN
    pair = format_html_join(
        " → ", '<pre class="wrap" dir="auto">{}</pre>', [[before], [after]]
    )
    label = capfirst(field.verbose_name)
    return format_html(
        "<details{}><summary>{}</summary>{}</details>",
        " open" if is_open else "",
        label,
        pair,
    )
