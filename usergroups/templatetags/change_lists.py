"""Template filters for lists of the admin. They change what the templates of Django and of themes show."""

from collections.abc import Iterable
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
def choices(spec: Any, changelist: Any) -> Iterable[dict[str, Any]]:
    """Return the choices of a filter: links, or a form field as ``field``."""
    return spec.choices(changelist)  # type: ignore[no-any-return]


@register.filter
def other_params(changelist: Any) -> list[tuple[str, str]]:
    """Return the names and values of the parameters of the list that are not form fields of its filters."""
    fields = {spec.lookup for spec in changelist.filter_specs if isinstance(spec, AutocompleteFilter)}
    params = changelist.filter_params.items()
    return [(name, value) for name, values in params if name not in fields for value in values]


@register.filter
def without_filters(changelist: Any) -> Any:
    """Return a copy of the change list for which the theme shows no filters, because the list shows its own."""
    return _changed(changelist, has_filters=False)


@register.filter
def for_pagination(changelist: Any) -> Any:
    """Return a copy of the change list whose count says whether there may be more rows."""
    number = display_number(changelist.result_count)
    return _changed(changelist, result_count=number) if changelist.multi_page else changelist


@register.filter
def for_selection(changelist: Any) -> Any:
    """Return a copy of the change list whose count says which rows the user selects by selecting all."""
    if changelist.result_count == len(changelist.result_list):
        return changelist
    number = intcomma(changelist.result_count)
    limited = changelist.paginator.limit
    text = _("%(number)s listed") % {"number": number} if limited else number
    return _changed(changelist, result_count=text)


def _changed(changelist: Any, **attributes: Any) -> Any:
    changed = copy(changelist)
    vars(changed).update(attributes)
    return changed
