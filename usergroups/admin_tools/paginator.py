"""Pages of the first rows of a list, and text about numbers of rows."""

from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.db.models.options import Options
from django.utils.functional import cached_property

from .model_admin import M

MAX_LISTED = 10_000
"""The maximum number of rows that a list shows or a search reads."""


def bounded_count(rows: QuerySet[Any]) -> int:
    """Return the number of rows of a queryset, without counting beyond
    MAX_LISTED.
    """
    return rows.order_by()[:MAX_LISTED].count()


def newest_rows(rows: QuerySet[M]) -> tuple[QuerySet[M], bool]:
    """Return the rows with the last primary keys, at most MAX_LISTED, and
    whether there are others.

    Unlike a slice, the queryset can still be filtered. Then the database reads
    no other rows.
    """
    others = rows.order_by("-pk").values_list("pk", flat=True)
    last_other = others[MAX_LISTED : MAX_LISTED + 1].first()
    if last_other is None:
        return rows, False
    return rows.filter(pk__gt=last_other), True


def display_count(number: int) -> str:
    """Return a number from ``bounded_count()`` as text, such as "10,000+"."""
    text = intcomma(number)
    return f"{text}+" if number == MAX_LISTED else text


def display_rows(number: int, opts: "Options[Any]") -> str:
    """Return text such as "1 bookmark" or "2,500 bookmarks" for rows of the
    model with these options.
    """
    name = opts.verbose_name if number == 1 else opts.verbose_name_plural
    return f"{intcomma(number)} {name}"


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """A paginator that lists the first MAX_LISTED rows and does not count the
    others.
    """

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        return bounded_count(self.object_list)

    @property
    def limit(self) -> str:
        """The maximum number of rows as text if there may be more rows,
        otherwise empty.
        """
        return intcomma(MAX_LISTED) if self.count == MAX_LISTED else ""
