"""Pages of the first rows of a list, and text about numbers of rows."""

from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.db.models.options import Options
from django.utils.functional import cached_property

from .pages import M

MAX_LISTED = 10_000
"""The maximum number of rows that a list shows or a search reads."""


def bounded_count(rows: QuerySet[Model]) -> int:
    """Return the number of rows of a queryset, without counting beyond
    MAX_LISTED.
    """
    return rows.order_by()[:MAX_LISTED].count()


def bounded_number(rows: QuerySet[Model]) -> str:
    """Return ``bounded_count()`` as text."""
    return number_as_text(bounded_count(rows))


def number_as_text(number: int) -> str:
    """Return a ``bounded_count()`` as text, with a plus sign if there may be
    more rows.
    """
    more = "+" if number == MAX_LISTED else ""
    return f"{intcomma(number)}{more}"


def newest_rows(rows: QuerySet[M]) -> QuerySet[M]:
    """Return the rows with the last primary keys, at most MAX_LISTED.

    Unlike a slice, the queryset can still be filtered. Then the database reads
    no other rows.
    """
    keys = rows.order_by("-pk").values_list("pk", flat=True)
    # the key that follows the first MAX_LISTED
    newest_other = keys[MAX_LISTED : MAX_LISTED + 1].first()
    if newest_other is None:
        return rows
    return rows.filter(pk__gt=newest_other)


def display_rows(number: int, opts: "Options[M]") -> str:
    """Return text such as "1 bookmark" or "2,500 bookmarks" for rows of the
    model with these options.
    """
    name = opts.verbose_name_plural
    if number == 1:
        name = opts.verbose_name
    return f"{intcomma(number)} {name}"


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """A paginator that lists the first MAX_LISTED rows and does not count the
    others.
    """

    object_list: QuerySet[Model]

    @cached_property
    def count(self) -> int:
        return bounded_count(self.object_list)

    @property
    def is_limited(self) -> bool:
        """Whether there may be more rows."""
        return self.count == MAX_LISTED
