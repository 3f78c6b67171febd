"""The rows that belong to a row, and the owner with which a form begins that was opened from a filtered list.

Django's links carry the filters of the list in the parameter ``_changelist_filters``, and lead back to that list.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.utils import get_fields_from_path
from django.db import models, router
from django.http import HttpRequest, QueryDict

from .autocomplete import is_valid_value
from .lists import bounded_count, display_number
from .permissions import admin_url, can_view

FILTERS_PARAM = "_changelist_filters"
"""Django's query parameter with the query of the list to which a page returns."""


def list_params(request: HttpRequest) -> QueryDict:
    """Return the parameters of the list from which a page was opened."""
    return QueryDict(request.GET.get(FILTERS_PARAM, ""))


def foreign_key_filters(model_admin: Any, request: HttpRequest) -> Iterator[tuple[str, Any]]:
    """Yield the path and the field of each foreign key by which the list can be filtered."""
    for each in model_admin.get_list_filter(request):
        path = each[0] if isinstance(each, tuple) else each
        if isinstance(path, str) and (field := get_fields_from_path(model_admin.model, path)[-1]).many_to_one:
            yield path, field


def owners_in_filters(model_admin: Any, request: HttpRequest) -> dict[str, str]:
    """Return the keys of the rows by which the list is filtered, by path, for those that the user may view."""
    params, owners = list_params(request), {}
    for path, field in foreign_key_filters(model_admin, request):
        key = params.get(f"{path}__{field.target_field.name}__exact")
        is_valid = key and is_valid_value(field.target_field, key)
        if is_valid and can_view(model_admin.admin_site, request, field.related_model):
            owners[path] = str(key)
    return owners


def related_lists(model_admin: Any, request: HttpRequest, row: models.Model) -> Iterator[dict[str, Any]]:
    """Yield what to show of each list that can be filtered by the row and that the user may view."""
    site = model_admin.admin_site
    for model in model_admin.opts.apps.get_models():
        if can_view(site, request, model):
            other = site.get_model_admin(model)
            for path, field in foreign_key_filters(other, request):
                if issubclass(model_admin.model, field.related_model):
                    query = {f"{path}__{field.target_field.name}__exact": str(row.pk)}
                    yield related_list(other, request, {path: row}, query)


def related_list(other: Any, request: HttpRequest, conditions: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    """Return the name, the number and the address of a list with this query, and the links of its rows."""
    rows = other.get_queryset(request).using(router.db_for_write(other.model)).filter(**conditions)
    encoded = urlencode(query)
    links = other.get_related_links(request) if hasattr(other, "get_related_links") else []
    return {
        "name": str(other.opts.verbose_name_plural),
        "count": display_number(bounded_count(rows)),
        "url": f"{admin_url(other.admin_site, other.opts, 'changelist')}?{encoded}",
        "links": [(label, f"{url}?{urlencode({FILTERS_PARAM: encoded})}") for label, url in links],
    }
