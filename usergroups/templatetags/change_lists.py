"""Template filters for lists of the admin. They change what the templates of Django and of themes show."""

from copy import copy
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.template import Library
from django.utils.translation import gettext as _

from usergroups.admin_tools.autocomplete import AutocompleteFilter
from usergroups.admin_tools.lists import display_number

register = Library()


@register.filter
def counted_rows(changelist: Any) -> str:
    """Return the number and name of the rows, such as "1 bookmark" or "10,000+ bookmarks"."""
    number, opts = changelist.result_count, changelist.opts
    return f"{display_number(number)} {opts.verbose_name if number == 1 else opts.verbose_name_plural}"


@register.filter
def shows_all_of_owner(changelist: Any) -> bool:
    """Return whether the list has no search and no filter, except for the owners of the rows."""
    used = [spec for spec in changelist.filter_specs if getattr(spec, "used_parameters", None)]
    return not changelist.query and all(isinstance(spec, AutocompleteFilter) for spec in used)


@register.filter
def for_pagination(changelist: Any) -> Any:
    """Return a copy of the change list whose count says whether there may be more rows."""
    return _with_count(changelist, display_number(changelist.result_count)) if changelist.multi_page else changelist


@register.filter
def for_selection(changelist: Any) -> Any:
    """Return a copy of the change list whose count says which rows the user selects by selecting all."""
    if changelist.result_count == len(changelist.result_list):
        return changelist
    number = intcomma(changelist.result_count)
    limited = changelist.paginator.limit
    return _with_count(changelist, _("%(number)s listed") % {"number": number} if limited else number)


def _with_count(changelist: Any, text: str) -> Any:
    changed = copy(changelist)
    changed.result_count = text
    return changed
