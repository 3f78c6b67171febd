"""The bookmarks that the export page exports: those that a list shows, or those that were selected in it."""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext

from bookmarks.files.exporting import load, load_all
from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.autocomplete import AutocompleteFilter, is_valid_value
from usergroups.admin_tools.confirmation import MAX_CHANGED
from usergroups.admin_tools.context import list_params
from usergroups.models import UserGroup


@dataclass
class ExportScope:
    """The bookmarks to export."""

    bookmarks: QuerySet[Bookmark]
    description: list[str]
    """What the bookmarks have in common, and their number."""
    user_group: UserGroup | None = None
    """Their user group, or None if they may belong to several."""
    collection: Collection | None = None

    def load(self) -> Iterator[Bookmark | Collection]:
        if self.user_group is None:
            return load_all(self.bookmarks)
        return load(self.user_group, self.collection, self.bookmarks)


def selected(model_admin: Any, request: HttpRequest, keys: Iterable[str]) -> ExportScope:
    """Return the bookmarks with these primary keys, of which some may be invalid."""
    valid = [key for key in keys if is_valid_value(Bookmark._meta.pk, key)][:MAX_CHANGED]
    bookmarks = model_admin.get_queryset(request).filter(pk__in=valid)
    found = list(bookmarks)
    groups = {bookmark.user_group for bookmark in found}
    description = [
        f"{capfirst(UserGroup._meta.verbose_name)}: {next(iter(groups))}"
        if len(groups) == 1
        else f"{capfirst(UserGroup._meta.verbose_name_plural)}: {intcomma(len(groups))}",
        _number(len(found)),
    ]
    return ExportScope(bookmarks, description, groups.pop() if len(groups) == 1 else None)


def filtered(model_admin: Any, request: HttpRequest) -> ExportScope | None:
    """Return what the list shows from which the page was opened, or None if it shows all or those of a user group.

    Raises IncorrectLookupParameters if a filter is invalid, or if the description would lack it.
    """
    params = list_params(request).copy()
    params.pop("p", None)
    listing: Any = copy(request)
    listing.GET = params
    changelist = model_admin.get_changelist_instance(listing)
    offered = {name for each in changelist.filter_specs for name in each.expected_parameters()}
    used = changelist.get_filters_params()
    if not offered.issuperset(used) or any(len(values) > 1 for values in used.values()):
        raise IncorrectLookupParameters
    filters = [each for each in changelist.filter_specs if each.used_parameters]
    rows = {each.field_path: each.chosen_row() for each in filters if isinstance(each, AutocompleteFilter)}
    if not changelist.query and {name for each in filters for name in each.used_parameters} <= {
        "user_group__id__exact"
    }:
        return None
    description = [
        f"{capfirst(each.title)}: {rows.get(getattr(each, 'field_path', '')) or _chosen(each, changelist)}"
        for each in filters
    ]
    if changelist.query:
        description.append(gettext("Search: %(text)s") % {"text": changelist.query})
    description.append(_number(changelist.result_count, "+" if changelist.paginator.limit else ""))
    collection = rows.get("collection")
    user_group = rows.get("user_group") or (collection.user_group if collection else None)
    return ExportScope(changelist.queryset, description, user_group, collection)


def _chosen(spec: Any, changelist: Any) -> str:
    """Return the label of the choice of a filter, or its values if no choice has them."""
    labels = [choice["display"] for choice in spec.choices(changelist) if choice.get("selected")]
    return ", ".join(map(str, labels or [value for values in spec.used_parameters.values() for value in values]))


def _number(number: int, suffix: str = "") -> str:
    return f"{capfirst(Bookmark._meta.verbose_name_plural)}: {intcomma(number)}{suffix}"
