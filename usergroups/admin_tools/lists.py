"""The counts, pages and columns of lists, whose cost does not grow with the table."""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core import paginator
from django.db import models
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html

from .permissions import admin_url, can_view

if TYPE_CHECKING:
    Paginator = paginator.Paginator[Any]
else:
    Paginator = paginator.Paginator

MAX_LISTED = 10_000

Describe = Callable[[Any], str]
"""Returns what a cell shows of the owner of a row."""


def display_count(rows: models.QuerySet[Any]) -> str:
    """Return the number of rows as text, or ``10,000+`` without counting further."""
    return display_number(_bounded_count(rows))


def display_number(number: int) -> str:
    """Return a number that was counted up to 10,000 as text."""
    return intcomma(number) if number < MAX_LISTED else f"{intcomma(MAX_LISTED)}+"


class BoundedCount(models.Subquery):
    """The number of the rows, up to 10,000, as a value in another query."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = models.IntegerField()

    def __init__(self, rows: models.QuerySet[Any]) -> None:
        super().__init__(rows.order_by().values("pk")[:MAX_LISTED])


def display_rows(number: int, opts: Any) -> str:
    """Return text such as "1 bookmark" or "2,500 bookmarks" for rows of the model with these options."""
    return f"{intcomma(number)} {opts.verbose_name if number == 1 else opts.verbose_name_plural}"


class BoundedPaginator(Paginator):
    """A paginator that lists the first 10,000 rows and does not count the others."""

    @cached_property
    def count(self) -> int:
        return _bounded_count(self.object_list)

    @property
    def limit(self) -> str:
        """The maximum number of rows as text if there may be more rows, otherwise empty."""
        return intcomma(MAX_LISTED) if self.count == MAX_LISTED else ""


def _bounded_count(rows: Any) -> int:
    return rows.order_by()[:MAX_LISTED].count()  # type: ignore[no-any-return]


def owner_column(model_admin: Any, request: HttpRequest, lookup: str, describe: Describe) -> Callable[[Any], str]:
    """Return a column for ``list_display``. It links to the owner's page if the user may view the owner.

    The column cannot be sorted, because no index has the order of the owners' names.
    """
    field: Any = get_fields_from_path(model_admin.model, lookup)[-1]
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
