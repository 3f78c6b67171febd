"""Columns of lists: links to the owners of the rows, environments, dates and times such as "2 hours ago"."""

from collections.abc import Callable
from datetime import datetime
from functools import reduce
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format, localize
from django.utils.html import format_html
from django.utils.timesince import timesince, timeuntil
from django.utils.timezone import localtime
from django.utils.translation import gettext, npgettext_lazy

from .permissions import admin_url, can_view

Describe = Callable[[Any], str]
"""Returns what a cell shows of the owner."""


def owner_column(model_admin: Any, request: HttpRequest, lookup: str, describe: Describe) -> Callable[[Any], str]:
    """Return a column for ``list_display``. It links to the owner's page if the user may view the owner.

    A column of owners cannot be sorted, because no index has the order of their names.
    """
    field: Any = get_fields_from_path(model_admin.model, lookup)[-1]
    if not field.is_relation:

        def column_of_values(row: Any) -> str:
            return describe(getattr(row, lookup))

        column_of_values.__name__ = lookup
        return admin.display(column_of_values, description=field.verbose_name, ordering=lookup)
    owners, site = field.related_model._meta, model_admin.admin_site
    is_linked = can_view(site, request, field.related_model)

    def column(row: Any) -> str:
        owner = reduce(getattr, lookup.split(LOOKUP_SEP), row)
        if not is_linked:
            return describe(owner)
        page = admin_url(site, owners, "change", owner.pk)
        return format_html('<a href="{}">{}</a>', page, describe(owner))

    column.__name__ = field.name  # which Django uses in CSS classes
    return admin.display(column, description=field.verbose_name)


def two_lines(first: str, second: str) -> str:
    """Return the content of a cell with a secondary line in small type."""
    return format_html('{} <small class="second-line">{}</small>', first, second) if second else first


def environment_badge(environment: str) -> str:
    """Return the content of a cell with an environment."""
    return format_html('<span class="badge {}">{}</span>', environment.lower(), environment) if environment else "-"


def short_date(at: datetime) -> str:
    """Return the content of a cell with a date, and the exact time as a tooltip."""
    local = localtime(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', at.isoformat(), localize(local), date_format(local, "DATE_FORMAT")
    )


COLUMNS: dict[str, Describe] = {"environment": environment_badge, "created_at": short_date, "updated_at": short_date}
"""What the lists show of the fields with these names."""

# Django's texts are in the nominative, and many languages need another case after "in" and before "ago".
TIME_STRINGS: Any = {
    "year": npgettext_lazy("in or ago", "%(num)d year", "%(num)d years", "num"),
    "month": npgettext_lazy("in or ago", "%(num)d month", "%(num)d months", "num"),
    "week": npgettext_lazy("in or ago", "%(num)d week", "%(num)d weeks", "num"),
    "day": npgettext_lazy("in or ago", "%(num)d day", "%(num)d days", "num"),
    "hour": npgettext_lazy("in or ago", "%(num)d hour", "%(num)d hours", "num"),
    "minute": npgettext_lazy("in or ago", "%(num)d minute", "%(num)d minutes", "num"),
}


def relative_time(at: datetime | None) -> str | None:
    """Return HTML such as "in 3 days" or "2 hours ago", with the exact time as a tooltip."""
    if at is None:
        return None
    if at <= timezone.now():
        text = gettext("%(time)s ago") % {"time": timesince(at, time_strings=TIME_STRINGS, depth=1)}
    else:
        text = gettext("in %(time)s") % {"time": timeuntil(at, time_strings=TIME_STRINGS, depth=1)}
    exact = localize(localtime(at))
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), exact, text)
